"""Exit codes of every command: 1 for data that cannot be used, 2 for a wrong call, 130 for an interrupt."""

import os
import sys

import pytest

from tacit.app.main import COMMANDS

FILES = {
    "lists.txt": "1 qid:1 1:3 #docid = a\n0 qid:1 1:1 #docid = b\n",
    "other.txt": "1 qid:2 1:3\n0 qid:2 1:1\n",
    "docs.jsonl": '{"id": "a", "text": "red cat"}\n{"id": "b", "text": "blue dog"}\n',
    "queries.tsv": "1\tcat\n",
    "qrels.txt": "1 0 a 1\n",
    "my.run": "1 Q0 a 1 2.0 x\n",
    "bad.run": "x\n",
}
BAD_DATA = [
    "fit absent -o other",
    "fit docs.jsonl -o other --links absent",
    "search absent cat",
    "search model --queries absent --run other.run",
    "add absent docs.jsonl",
    "add model absent",
    "add model docs.jsonl",
    "remove absent a",
    "remove model absent",
    "verify absent",
    "advise absent --queries queries.tsv --qrels qrels.txt",
    "advise docs.jsonl --queries queries.tsv --qrels absent",
    "features absent --queries queries.tsv",
    "features docs.jsonl --queries absent",
    "rank absent lists.txt",
    "rank --model absent lists.txt",
    "learning-curve absent",
    "learning-curve lists.txt",
    "export absent --to linear -o other",
    "fuse absent my.run other.run",
    "fuse qrels.txt my.run bad.run",
    "fuse --apply absent my.run other.run",
    "gate absent my.run my.run",
    "gate qrels.txt my.run bad.run",
    "evaluate absent my.run",
    "evaluate qrels.txt absent",
    "evaluate qrels.txt bad.run",
    "beir absent",
    "serve absent",
    "mcp absent",
    "judgments show absent",
    "judgments import store absent",
    "judge store --model absent --queries queries.tsv --with openai:m",
    "judge store --model model --queries absent --with openai:m",
    "label absent --queries queries.tsv",
    "label model --queries absent",
    "split absent --out parts",
    "reproduce usps --data absent",
]
WRONG_CALLS = [
    *(f"{command} --no-such-option" for command in COMMANDS),
    "",
    "no-such-command",
    "demo --seed x",
    "fit docs.jsonl",
    "fit docs.jsonl -o other --method absent",
    "fit docs.jsonl -o other --set absent=1",
    "fit docs.jsonl -o other --set strength=-1",
    "fit docs.jsonl -o other --queries queries.tsv",
    "fit docs.jsonl -o other --language absent",
    "fit docs.jsonl -o other --dim 0",
    "search model",
    "search model cat -k 0",
    "search model --queries queries.tsv",
    "remove model",
    "advise docs.jsonl --queries queries.tsv",
    "features docs.jsonl",
    "rank lists.txt",
    "rank lists.txt lists.txt --method absent",
    "rank lists.txt other.txt --set list_spread=-1",
    "learning-curve absent --method absent",
    "learning-curve absent --measure absent",
    "export model --to absent -o other",
    "fuse qrels.txt my.run",
    "gate qrels.txt my.run",
    "evaluate qrels.txt my.run -m absent",
    "evaluate qrels.txt my.run -m P@0",
    "beir . --method absent",
    "serve model --port 99999",
    "mcp model --judge helper",
    "judgments absent",
    "judge store --model model --queries queries.tsv --with absent",
    "judge store --model model --queries queries.tsv --with openai:m --base-url absent",
    "evaluate qrels.txt my.run --assist absent",
    "label model",
    "split lists.txt --out parts --test 7",
    "methods absent",
    "warm my.model",
    "reproduce absent",
    "reproduce links --systems absent",
    "reproduce links --corpus absent",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from tacit.data import read_collection
    from tacit.search import Searcher

    folder = tmp_path_factory.mktemp("codes")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    Searcher("bm25").fit(read_collection(folder / "docs.jsonl")).save(folder / "model")
    return folder


@pytest.mark.parametrize(
    ("line", "wanted"), [*((line, 1) for line in BAD_DATA), *((line, 2) for line in WRONG_CALLS)]
)  # fmt: skip
def test_a_mistake_is_one_line_and_its_code(folder, tacit, monkeypatch, line, wanted):
    monkeypatch.chdir(folder)
    monkeypatch.delitem(sys.modules, "tacit.integrations.mcp", raising=False)  # half imported by doctest without `mcp`
    before = sorted(os.listdir(folder))
    code, out, err = tacit(*line.split())
    assert (code, out, err.count("\n")) == (wanted, "", 1), err
    assert err.startswith("tacit")
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_mistake_above(name):
    assert any(line.split()[:1] == [name] and "--no-such" not in line for line in BAD_DATA + WRONG_CALLS)


LEAST = {
    "demo": "", "fit": "docs.jsonl -o other", "search": "model cat", "add": "model docs.jsonl", "remove": "model a",
    "verify": "model", "advise": "lists.txt", "features": "docs.jsonl --queries queries.tsv",
    "rank": "lists.txt lists.txt", "learning-curve": "lists.txt", "export": "model --to linear -o other",
    "fuse": "qrels.txt my.run other.run", "gate": "qrels.txt my.run my.run",
    "evaluate": "qrels.txt my.run", "beir": ".", "serve": "model", "mcp": "model",
    "judgments": "show store",
    "judge": "store --model model --queries queries.tsv --with openai:m", "label": "model --queries queries.tsv",
    "split": "lists.txt --out parts", "methods": "", "reproduce": "links", "warm": "",
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupt_ends_a_command_with_130(tacit, monkeypatch, name):
    def interrupted(args, out):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{COMMANDS[name]}.run", interrupted)
    assert tacit(name, *LEAST[name].split()) == (130, "", "tacit: interrupted\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_has_gone_ends_a_command_with_1_and_no_message(tacit, monkeypatch, name):
    """As in `tacit methods | head -1`."""

    def write(args, out):
        out.write("a line\n")
        out.flush()
        return 0

    monkeypatch.setattr(f"{COMMANDS[name]}.run", write)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", closefd=False) as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        code, _, err = tacit(name, *LEAST[name].split())
    os.close(writing)
    assert (code, err) == (1, "")
