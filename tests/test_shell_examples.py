"""Shell examples of the docs: every `tacit` line has a form that the program takes, and those of the guides are run."""

import bz2
import gzip
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from tacit.app.main import build_parser, main

DOCS = Path(__file__).parent.parent / "docs"
README = DOCS.parent / "README.md"
PAGES = sorted([README, *DOCS.rglob("*.md")])
RUN = [*sorted((DOCS / "guides").glob("*.md")), *(DOCS / f"{name}.md" for name in ("advise", "features", "judgments"))]
# What runs until it is stopped, and what is tested with its own library: tests/app/web, tests/distributed.
NOT_RUN = re.compile(r"tacit (serve|demo)|--ray")
TOPICS = ("linear matrix inverse solve", "password store hash secret", "filter noise signal phase", "cat dog bird fish")
TITLES = ("scipy.linalg.pinv", "scipy.stats.linregress", "numpy.linalg.norm")  # documents that the pages name


def commands(page: Path) -> list[list[str]]:
    """Words of each `tacit` line in the shell blocks of a page."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("tacit ") and " [--" not in line]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_the_program_takes_every_command_of_the_page(page):
    for words in commands(page):
        build_parser().parse_args(words)  # exits with an error if it does not


def write_jsonl(path, rows):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """A copy of the files that a page may change."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small files with all names that the pages use, and models of them."""
    place = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        write_files(place)
    return place


def write_files(place):
    """Documents and queries of four topics."""
    rng = np.random.default_rng(0)

    def text(topic, n=8):
        return " ".join(rng.choice([*TOPICS[topic].split(), "other", "words", "here"], n))

    ids = [*TITLES, *(f"d{number}" for number in range(37))]
    documents = [{"id": name, "title": text(at % 4, 2), "text": text(at % 4)} for at, name in enumerate(ids)]
    for name in ("docs.jsonl", "docs.jsonl.gz", "docs.ja.jsonl.gz"):
        write_jsonl(place / name, documents)
    queries = [{"id": f"q{number}", "text": text(number % 4, 3)} for number in range(20)]
    for name in ("queries.jsonl", "judged.jsonl"):
        write_jsonl(place / name, queries)
    relevant = [(q, at) for q in range(20) for at in range(len(ids)) if at % 4 == q % 4 and rng.random() < 0.7]
    judged = [f"q{q} 0 {ids[at]} 1" for q, at in relevant] + [f"q{q} 0 {ids[(q + 1) % 4]} 0" for q in range(20)]
    Path("qrels.txt").write_text("\n".join(judged) + "\n")
    Path("links.tsv").write_text("".join(f"{ids[at]}\t{ids[(at + 4) % 40]}\n" for at in range(40)))
    with gzip.open("mates.tsv.gz", "wt") as file:
        file.writelines(f"{name}\t{name}\n" for name in ids)
    asked = [query["text"] for query in queries for _ in range(3)]
    sessions = [{"query": text, "shown": ids[:8], "clicked": [ids[n // 3 % 4]]} for n, text in enumerate(asked)]
    write_jsonl(place / "sessions.jsonl", sessions)
    Path("llm.csv").write_text("query,document,grade\nq1,d1,1\n")
    Path("judge.py").write_text(
        "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n"
        "    shared = set(asked['query'].split()) & set(asked['document'].split())\n"
        "    print(json.dumps({'grade': min(len(shared), 3)}), flush=True)\n"
    )
    Path("llm.qrels").write_text("".join(f"q{q} 0 {ids[at]} {(q + at) % 2}\n" for q in range(20) for at in range(8)))
    Path("synonyms.txt").write_text("shoe, sneaker\n")
    Path("gpt.qrels").write_text("".join(f"{q} 0 {q}-{at + 1} {at % 2}\n" for q in range(12) for at in range(8)))
    np.save("docs.npy", rng.normal(size=(40, 6)).astype(np.float32))
    np.save("queries.npy", rng.normal(size=(20, 6)).astype(np.float32))
    Path("products.csv").write_text(
        "sku,name,description,bullet_points,price,in_stock,brand,released\n"
        + "".join(f"p{n},red shoe {n},{text(n % 4)},light,{n * 5},true,Acme,2024\n" for n in range(20))
    )
    Path("judged.csv").write_text("query,document,grade\n" + "".join(f"red shoe {n},p{n},1\n" for n in range(6)))
    write_lists(rng)
    write_runs(rng, ids)
    write_dump(rng, text)
    main(["fit", "docs.jsonl", "--method", "bm25", "-o", "my.model"])
    main(["fit", "products.csv", "--method", "bm25", "-o", "shop.model"])
    main(["judgments", "import", "damaged.judgments", "qrels.txt", "--judge", "ann"])
    for method in ("ssi", "htr"):
        main(["fit", "docs.jsonl", "--method", "tfidf", "-o", f"{method}.model"])


def write_lists(rng):
    """LETOR lists of 30 features."""
    for name, n_lists in (("train.txt", 12), ("vali.txt", 4), ("test.txt", 4), ("lists.txt.gz", 20)):
        opener = gzip.open if name.endswith(".gz") else open
        with opener(name, "wt") as file:
            for row in range(n_lists * 8):
                values = rng.normal(size=30).round(3)
                columns = " ".join(f"{at}:{value}" for at, value in enumerate(values, 1))
                file.write(f"{int(values[24] > 0.3)} qid:{row // 8} {columns}\n")


def write_runs(rng, ids):
    """Runs of the judged queries: those of a topic first, with more or less noise."""
    for name, noise in (("bm25", 1.0), ("dense", 0.5), ("main", 0.8), ("branch", 0.2), ("old", 0.8), ("new", 0.2)):
        with open(f"{name}.run", "w") as file:
            for q in range(20):
                scores = {doc: (at % 4 == q % 4) + noise * rng.random() for at, doc in enumerate(ids)}
                best = sorted(scores, key=lambda doc: -scores[doc])
                file.writelines(f"q{q} Q0 {doc} {rank} {scores[doc]} x\n" for rank, doc in enumerate(best, 1))


def write_dump(rng, text):
    pages = [
        f"<page><title>P{n}</title><ns>0</ns><id>{n}</id><revision><id>{n}</id>"
        f"<text>{text(n % 4)} [[P{(n + 4) % 24}]]</text></revision></page>"
        for n in range(24)
    ]
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">'
    with bz2.open("enwiki-latest-pages-articles.xml.bz2", "wt") as file:
        file.write(f"{head}{''.join(pages)}</mediawiki>")


@pytest.mark.parametrize("page", [page for page in RUN if commands(page)], ids=lambda page: page.stem)
def test_the_commands_of_the_page_run(page, folder, capsys):
    for words in commands(page):
        if NOT_RUN.search(shlex.join(["tacit", *words])):
            continue
        words = ["docs.jsonl.gz" if word == "docs.jsonl.zst" else word for word in words]
        assert main(words) in (0, None), f"tacit {shlex.join(words)}: {capsys.readouterr().err}"
