"""A real static model through `tacit fit --encoder`, `search`, `add`, `advise` and the service."""

import json

import numpy as np
import pytest

from tacit.app.main import main
from tacit.search import Searcher
from tacit.search.encoders import load_encoder

MEANING = {"cat": 0, "feline": 0, "ship": 1, "vessel": 1, "bread": 2, "loaf": 2}


@pytest.fixture
def static_model(need, tmp_path):
    """A folder of model2vec in which two words share each of three meanings."""
    library = need("model2vec")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = ["[UNK]", *MEANING, *(f"filling{n}" for n in range(20))]
    tokenizer = Tokenizer(WordLevel({word: row for row, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.random.default_rng(0).normal(0, 0.05, (len(words), 8)).astype(np.float32)
    for word, meaning in MEANING.items():
        vectors[words.index(word), meaning] += 1
    library.StaticModel(vectors, tokenizer).save_pretrained(str(tmp_path / "static"))
    return tmp_path / "static"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    rng, known = np.random.default_rng(1), ("cat", "ship", "bread")
    with open("docs.jsonl", "w") as file:
        for n in range(45):
            filling = " ".join(f"filling{word}" for word in rng.integers(0, 20, 12))
            text = f"{known[n % 3]} {filling} and more about the {known[n % 3]} than one line could hold"
            file.write(
                json.dumps({"id": f"{known[n % 3]}{n}", "title": f"about one {known[n % 3]}", "text": text}) + "\n"
            )
    return tmp_path


def test_a_static_model_is_used_by_every_command(static_model, folder, capsys):
    fit = ["fit", "docs.jsonl", "--encoder", str(static_model), "--dim", "3", "--set", "vectors=2", "-o", "my.model"]
    assert main(fit) == 0
    assert main(["search", "my.model", "feline", "-k", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {hit["id"][:3] for hit in found["hits"]} == {"cat"}
    (folder / "new.jsonl").write_text(json.dumps({"id": "new", "title": "", "text": "a feline and another feline"}))
    assert main(["add", "my.model", "new.jsonl"]) == 0
    assert main(["search", "my.model", "cat", "-k", "20", "--json"]) == 0
    assert "new" in {hit["id"] for hit in json.loads(capsys.readouterr().out)["hits"]}
    (folder / "queries.jsonl").write_text("".join(
        json.dumps({"id": f"q{n}", "text": f"about {word} {n}"}) + "\n"
        for n, word in enumerate(["feline", "vessel", "loaf"] * 4)
    ))  # fmt: skip
    (folder / "qrels.txt").write_text("".join(
        f"q{n} 0 {kind}{doc} 1\n"
        for n in range(12) for kind in [("cat", "ship", "bread")[n % 3]] for doc in range(n % 3, 45, 3)
    ))  # fmt: skip
    assert main(["search", "my.model", "--queries", "queries.jsonl", "--run", "a.run"]) == 0
    assert main(["evaluate", "qrels.txt", "a.run", "-m", "P@10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["measures"]["P@10"] > 0.9
    given = ["--queries", "queries.jsonl", "--qrels", "qrels.txt", "--measure", "AP", "--json"]
    assert main(["advise", "docs.jsonl", *given, "--encoder", str(static_model)]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"blend", "blend+encoder", "encoder", "rrf"} <= {row["system"] for row in told["rows"]}
    means = {row["system"]: row["metrics"]["AP"] for row in told["rows"]}
    assert means["encoder"] > means["blend"] + 0.2
    assert told["encoder"]["blend"]["gain"] > -0.01


def test_a_saved_model_finds_its_static_model_and_refuses_another(static_model, folder):
    searcher = Searcher(encoder=static_model, dim=3, vectors=2.0).fit("docs.jsonl")
    recorded = json.loads(searcher.encoder_)
    assert (recorded["kind"], recorded["dim"]) == ("model2vec", 8)
    searcher.save("my.model")
    again = Searcher.load("my.model")
    assert [hit.id for hit in again.search("vessel")] == [hit.id for hit in searcher.search("vessel")]
    assert load_encoder(str(static_model)).passages("filling1 " * 1200)[1].startswith("filling1")
    table = static_model / "model.safetensors"
    content = bytearray(table.read_bytes())
    content[-1] ^= 1
    table.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="want the same encoder, or fit again"):
        Searcher.load("my.model").search("vessel")


def test_loading_a_transformer_prints_no_progress(need, tmp_path, capfd):
    """Every search loads it, so a bar would be noise; elsewhere the bars of the library stay on."""
    library = need("sentence_transformers")
    from transformers import BertConfig, BertModel, BertTokenizerFast
    from transformers.utils import logging

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cats", "dogs"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=len(words), **size)).save_pretrained(tmp_path / "bert")
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "bert")
    library.SentenceTransformer(str(tmp_path / "bert"), device="cpu").save(str(tmp_path / "model"))
    capfd.readouterr()
    assert load_encoder(str(tmp_path / "model")).encode(["cats", "dogs"], "query").shape == (2, 8)
    assert capfd.readouterr().err == ""
    assert logging.is_progress_bar_enabled()
