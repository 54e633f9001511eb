"""The command line as a user meets it: results on stdout, one line on stderr for a mistake, exit codes."""

import json
import subprocess
import sys

import pytest

DOCS = [
    {"id": "pinv", "title": "Pseudo inverse", "text": "The pseudo inverse of a singular matrix."},
    {"id": "inv", "title": "Inverse", "text": "The inverse of a square matrix."},
    {"id": "interp", "title": "Interpolation", "text": "Interpolate scattered points."},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    (tmp_path / "links.tsv").write_text("pinv\tinv\ninv\tpinv\n")
    (tmp_path / "queries.tsv").write_text("1\tsingular matrix\n2\tscattered points\n")
    (tmp_path / "qrels.txt").write_text("1 0 pinv 2\n1 0 inv 0\n2 0 interp 1\n")
    (tmp_path / "clicks.tsv").write_text("points\tinterp\t3\npoints\tinterp\nmatrix\tinv\n")
    return tmp_path


def test_fit_search_evaluate(folder, tacit):
    code, out, err = tacit("fit", "docs.jsonl", "-o", "model")
    assert (code, out) == (0, "")
    assert "blend fitted on 3 documents" in err
    code, out, _ = tacit("search", "model", "singular matrix", "-k", 2)
    assert code == 0
    assert out.splitlines()[0].split()[0::2][:1] == ["1"]
    assert "Pseudo inverse  (pinv)" in out
    assert "*singular* *matrix*" in out
    assert tacit("search", "model", "--queries", "queries.tsv", "--run", "all.run")[0] == 0
    code, out, _ = tacit("evaluate", "qrels.txt", "all.run", "-m", "AP", "-m", "RR", "--json")
    found = json.loads(out)
    assert found["measures"] == {"AP": 1.0, "RR": 1.0}
    assert found["queries"] == 2
    assert found["compare"] == []


def test_fit_learns_from_the_links_of_a_dump(folder, tacit):
    pages = "".join(
        f"<page><title>{title}</title><ns>0</ns><id>{number}</id><revision><text>{text}</text></revision></page>"
        for number, (title, text) in enumerate(
            [("Cat", "a [[dog]] runs"), ("Dog", "[[cat]] barks"), ("Bird", "a [[cat]]")]
        )
    )
    (folder / "dump").write_text(f"<mediawiki>{pages}</mediawiki>")
    code, _, err = tacit("fit", "dump", "-o", "model", "--method", "ssi-d")
    assert code == 0
    assert (
        "training data: 3 links between the documents of dump\nssi-d fitted on 3 documents and 3 pairs, language en"
        in err
    )
    code, _, err = tacit("fit", "dump", "-o", "model", "--method", "bm25")
    assert (code, "training data" in err) == (0, False)
    before = {file.name: file.read_bytes() for file in (folder / "model").iterdir()}
    (folder / "cut").write_text(f"<mediawiki>{pages}")
    (folder / "no.xml").write_text("no XML at all")
    for name, problem in (
        ("cut", "cut:1: the dump is truncated, 3 complete pages were read"),
        ("no.xml", "no.xml:1: not XML: syntax error, want a MediaWiki dump"),
    ):
        for model in ("model", "other"):
            assert tacit("fit", name, "-o", model) == (1, "", f"tacit: {problem}\n")
    assert {file.name: file.read_bytes() for file in (folder / "model").iterdir()} == before
    assert not (folder / "other").exists()


def test_search_prints_json(folder, tacit):
    tacit("fit", "docs.jsonl", "-o", "model", "--method", "tfidf")
    found = json.loads(tacit("search", "model", "scattered points", "--json")[1])
    assert found["method"] == "tfidf"
    hit = found["hits"][0]
    assert (hit["rank"], hit["id"], hit["title"]) == (1, "interp", "Interpolation")
    assert [hit["snippet"][start:end] for start, end in hit["matches"]] == ["scattered", "points"]


def test_compare_names_the_better_run(folder, tacit):
    (folder / "good.run").write_text("1 Q0 pinv 1 2 a\n2 Q0 interp 1 2 a\n")
    (folder / "bad.run").write_text("1 Q0 inv 1 2 b\n1 Q0 pinv 2 1 b\n2 Q0 inv 1 1 b\n")
    code, out, _ = tacit("evaluate", "qrels.txt", "bad.run", "--compare", "good.run", "-m", "AP", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["measures"]["AP"] == 0.25
    assert found["compare"][0]["measures"]["AP"] == 1.0
    assert found["tests"][0]["better"] == "good.run"
    assert "good.run" in tacit("evaluate", "qrels.txt", "bad.run", "--compare", "good.run")[1]


@pytest.mark.parametrize(
    "source",
    [("--links", "links.tsv"), ("--queries", "queries.tsv", "--qrels", "qrels.txt"), ("--clicks", "clicks.tsv")],
)
def test_fit_learns_from_every_source(folder, tacit, source):
    code, _, err = tacit("fit", "docs.jsonl", "-o", "model", "--method", "lsi+tfidf", "--dim", 2, *source)
    assert code == 0, err
    assert "alpha" in err
    assert "2 pairs" in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["fit", "absent.jsonl", "-o", "m"], 1, "absent.jsonl"),
        (["fit", "docs.jsonl", "-o", "m", "--method", "bm26"], 2, "did you mean 'bm25'"),
        (["fit", "docs.jsonl", "-o", "m", "--words", "0"], 2, "whole number >= 1"),
        (["fit", "docs.jsonl", "-o", "m", "--links", "l", "--clicks", "c"], 2, "exclude each other"),
        (["fit", "docs.jsonl", "-o", "m", "--qrels", "q"], 2, "needs --queries"),
        (["fit", "docs.jsonl", "-o", "m", "--language", "zz"], 2, "language"),
        (["fit", "docs.jsonl", "-o", "docs.jsonl"], 1, "docs.jsonl"),
        (["search", "absent", "x"], 1, "absent"),
        (["search", "absent"], 2, "QUERY or --queries"),
        (["search", "absent", "--queries", "q"], 2, "go together"),
        (["search", "absent", "--queries", "q", "--run", "r", "--json"], 2, "--json requires one QUERY"),
        (["search", "absent", "--queries", "q", "--run", "r", "--explain"], 2, "--explain requires one QUERY"),
        (["advise", "docs.jsonl"], 1, "a collection needs --queries and --qrels"),
        (["evaluate", "qrels.txt", "absent.run"], 1, "absent.run"),
        (["evaluate", "qrels.txt", "qrels.txt"], 1, "qrels.txt:1"),
        (["evaluate", "qrels.txt", "all.run", "-m", "nDGC@10"], 2, "nDCG"),
        (["reproduce", "link"], 2, "did you mean 'links'"),
        (["reproduce", "links", "--data", ".", "--corpus", "mdn"], 2, "mdn_ja_en"),
        (["reproduce", "links", "--data", "."], 1, "linked/mdn_ja_en: no such file"),
        ([], 2, "COMMAND"),
        (["dmeo"], 2, "demo"),
    ],
)
def test_mistakes_get_one_line_and_a_code(folder, tacit, words, code, message):
    (folder / "all.run").write_text("1 Q0 pinv 1 2 a\n")
    found, out, err = tacit(*words)
    assert (found, out) == (code, "")
    assert message in err
    assert err.startswith("tacit")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_bad_line_is_named_and_no_model_is_left(folder, tacit):
    (folder / "bad.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n')
    code, _, err = tacit("fit", "bad.jsonl", "-o", "model")
    assert code == 1
    assert "bad.jsonl:2" in err
    assert not (folder / "model").exists()


def test_reproduce_lists_the_experiments(tacit):
    code, out, _ = tacit("reproduce")
    assert code == 0
    assert "\nlinks  " in f"\n{out}"


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(folder, tacit):
    tacit("fit", "docs.jsonl", "-o", "model")
    script = f"{sys.executable} -m tacit search model 'matrix' | head -c 1"
    done = subprocess.run(script, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_search_without_results_names_what_was_asked(folder, tacit):
    (folder / "priced.jsonl").write_text('{"id": "a", "text": "red shoe", "price": 5}\n')
    tacit("fit", "priced.jsonl", "--method", "bm25", "-o", "priced")
    for options, found in (
        ((), ""),
        (("--filter", "price > 9"), " and the filter"),
        (("--offset", 3), " after the first 3 results"),
    ):
        query = "shoe" if options else "hat"
        assert tacit("search", "priced", query, *options) == (0, "", f"no document matches the query{found}\n")


def loaded_by(folder, *words):
    """Names of the packages and modules that a command imports."""
    code = (
        "import sys; from tacit.app.main import main; code = main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stderr.splitlines()[-1].split())


HEAVY = {"sklearn", "pandas", "rich", "fastapi", "ray"}


@pytest.mark.slow
def test_commands_import_only_what_they_need(folder, tacit):
    """No timing here (benchmarks/startup.py has it): only that nothing heavy is imported."""
    tacit("fit", "docs.jsonl", "-o", "model")
    assert not loaded_by(folder, "--help") & (HEAVY | {"numpy", "numba"})
    searched = loaded_by(folder, "search", "model", "matrix")
    unused = {"sqlite3", "scipy.stats", "scipy.fft", "scipy.optimize", "tacit.data.collections", "tacit.app.serve"}
    assert not searched & (HEAVY | unused)
    tacit("search", "model", "--queries", "queries.tsv", "--run", "a.run")
    assert not loaded_by(folder, "evaluate", "qrels.txt", "a.run") & (HEAVY | {"numba"})


def test_loops_are_imported_without_numba():
    code = "import sys, tacit.search, tacit.kernels.reconstruction; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_commands_spend_little_time_on_garbage():
    code = (
        "import atexit, gc, sys; sys.argv = ['tacit', '--version']\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0, gc.get_threshold()[0] >= 10_000))\n"
        "from tacit.__main__ import console; console()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True True"


def test_one_document_is_counted_in_the_singular(tmp_path, tacit):
    (tmp_path / "one.jsonl").write_text('{"id": "a", "text": "cat"}\n')
    code, _, err = tacit("fit", tmp_path / "one.jsonl", "--method", "bm25", "-o", tmp_path / "model")
    assert code == 0
    assert "bm25 fitted on 1 document" in err
    assert "1 documents" not in err


def test_judgments_that_change_nothing_are_told(folder, tacit):
    code, _, err = tacit("fit", "docs.jsonl", "-o", "model", "--queries", "queries.tsv", "--qrels", "qrels.txt")
    assert code == 0
    assert "2 pairs changed no weight: too few, or no gain in cross-validation beyond chance\n" in err
    assert "changed no weight" not in tacit("fit", "docs.jsonl", "-o", "model")[2]


def test_options_of_search_that_do_not_fit_are_refused(folder, tacit):
    assert tacit("fit", "docs.jsonl", "-o", "model")[0] == 0
    code, _, err = tacit("search", "model", "matrix", "--exclude-self")
    assert (code, "--exclude-self compares ids of --queries" in err) == (2, True)
    code, _, err = tacit("fit", "docs.jsonl", "--rerank", "standing", "-o", "other")
    assert (code, "a second stage learns from links" in err) == (2, True)
