"""One row for each system in a default run; a full run changes one thing at a time around it."""

from tacit.experiments.collections.links import plan_links, printed_params
from tacit.experiments.request import Request

RECIPES = [("mined", None), ("printed", "normal"), ("printed", "scaled")]


def cells(systems, **asked):
    return plan_links(Request(**asked), systems)


def test_a_default_run_has_one_cell_for_each_system():
    found = cells(["tfidf", "lsi", "ssi-uv-n", "htr-residual"])
    assert [(cell["system"], cell["dim"]) for cell in found] == [
        ("tfidf", None),
        ("lsi", 200),
        ("ssi-uv-n", 100),
        ("htr-residual", 100),
    ]


def test_a_full_run_has_three_seeds_of_the_main_systems_and_full_matrices_where_they_take_minutes():
    systems = ["tfidf", "bm25", "ssi-full", "ssi-sparse-10", "htr"]
    found = {(cell["system"], cell["seed"]) for cell in cells(systems, full=True, corpus="debian_ja_en")}
    assert found == {("bm25", 0), *((system, seed) for system in ("tfidf", "htr") for seed in range(3))}
    found = {(cell["system"], cell["seed"]) for cell in cells(systems, full=True, corpus="foldoc")}
    assert {("ssi-full", 0), ("ssi-sparse-10", 0)} == {cell for cell in found if "ssi" in cell[0]}
    asked = plan_links(Request(full=True, corpus="debian_ja_en", systems=("ssi-full",)), ["ssi-full"])
    assert {cell["system"] for cell in asked} == {"ssi-full"}


def test_a_run_with_several_seeds_has_them_for_every_system():
    found = [(cell["system"], cell["seed"]) for cell in cells(["tfidf", "ssi-full"], n_seeds=2)]
    assert found == [("tfidf", 0), ("ssi-full", 0), ("tfidf", 1), ("ssi-full", 1)]


def test_all_words_vary_how_many_are_frequent():
    found = cells(["tfidf", "ssi-uv-noi", "cfh-1gram"], words=None, corpus="wikispeedia")
    assert [cell.get("frequent") for cell in found] == [None, None, 5000, 2000, 10_000, 30_000]


def test_a_full_run_is_a_star():
    found = cells(["tfidf", "htr-residual"], full=True)
    main = [cell for cell in found if not {"gamma", "share"} & set(cell) and cell["dim"] in (None, 100)]
    assert len(main) == 2 * 3 * 3  # systems, splits, seeds
    around = [cell for cell in found if cell not in main]
    assert {cell["dim"] for cell in around} == {100, 200, 500}
    assert {cell.get("gamma") for cell in around} == {None, 0.0, 0.1, 0.3, 3.0}
    assert {cell.get("share") for cell in around} == {None, 0.01, 0.03, 0.1, 0.3}
    assert all((cell["seed"], cell["split"]) == (0, "queries") for cell in around)
    assert {cell["split"] for cell in cells(["tfidf", "htr-residual"], full=True, split="links")} == {"links"}


def test_the_papers_systems_have_printed_rows_beside_the_mined_one():
    found = cells(["tfidf", "ssi-uv", "htr", "htr-residual", "hash-1m"], as_printed=True)
    assert [(cell["system"], cell.get("recipe"), cell.get("start")) for cell in found] == [
        ("tfidf", None, None),
        *((name, *how) for name in ("ssi-uv", "htr") for how in RECIPES),
        ("htr-residual", "mined", None),
        ("hash-1m", "mined", None),
        ("hash-1m", "printed", None),
    ]
    assert printed_params(found[1]) == {}
    assert printed_params(found[2]) == {"n_epochs": 60, "tune": True}
