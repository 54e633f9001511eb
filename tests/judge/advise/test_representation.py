"""How advice looks in a notebook, and that `advise` takes what people have in memory."""

from tacit import advise


def test_advice_from_plain_data_is_short():
    documents = {f"d{n}": f"{word} text number {n}" for n, word in enumerate(["cat", "dog", "cow", "hen"] * 6)}
    queries = {f"q{n}": word for n, word in enumerate(["cat", "dog", "cow", "hen"])}
    qrels = {f"q{n}": {f"d{n}": 1, f"d{n + 4}": 1, f"d{(n + 1) % 4}": 0} for n in range(4)}
    advice = advise(documents, queries, qrels, minutes=0.01)
    assert advice.queries == 4
    assert repr(advice).startswith(f"Advice({advice.system!r}: ")
    assert len(repr(advice)) < 1000
    assert "<table>" in advice._repr_html_()
