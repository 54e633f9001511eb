"""The steps of SSI and HTR as the papers print them, dense, in float64 and one triple at a time, against the trainer.

The oracle knows nothing of blocks, pools or slots. Its gradients are checked by finite differences of the
loss, and so are the trainer's own steps.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows

N_QUERIES, N_ITEMS, N_WORDS, MARGIN = 7, 9, 8, 0.5


@dataclass(frozen=True)
class Form:
    """Which model: the item's vector, the diagonal, HTR's gamma, and the sizes."""

    items: str
    identity: str = "none"
    gamma: float = 0.0
    item_rate: float = 1.0
    dim: int = 5
    n_words: int | None = None
    n_item_words: int = N_WORDS


FORMS = {
    "uv": Form("mapped"),
    "uv+i": Form("mapped", "fixed"),
    "uv+d": Form("mapped", "learned"),
    "uu": Form("tied"),
    "uu+i": Form("tied", "fixed"),
    "uu+d": Form("tied", "learned"),
    "d": Form("mapped", "learned", dim=0),
    "uv-n+i": Form("mapped", "fixed", n_words=5),
    "uu-n+d": Form("tied", "learned", n_words=5),
    "uv-cross": Form("mapped", n_item_words=6),
    "uv-cross-n": Form("mapped", n_item_words=6, n_words=7),
    "htr-gamma0": Form("free", item_rate=0.5),
    "htr": Form("free", gamma=0.7, item_rate=2.0),
    "htr+i": Form("free", "fixed", gamma=1.5),
    "htr-n+d": Form("free", "learned", gamma=0.4, n_words=5),
    "residual+gamma": Form("residual", "fixed", gamma=0.8, item_rate=0.5),
    "htr-cross": Form("free", n_item_words=11),
    "residual": Form("residual", item_rate=0.3),
    "residual+i": Form("residual", "fixed"),
    "residual+d": Form("residual", "learned", item_rate=0.0),
    "residual-cross": Form("residual", n_item_words=6),
}
EACH_FORM = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


class World:
    """Random rows and tables, large enough that some triples keep the margin and some do not."""

    def __init__(self, form, seed=0):
        rng = np.random.default_rng(seed)
        self.form = form
        self.x, self.y = (
            rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.6)
            for n, width in ((N_QUERIES, N_WORDS), (N_ITEMS, form.n_item_words))
        )
        self.x[3] = 0  # a query without words
        n_query, n_item = (min(width, form.n_words or width) for width in (N_WORDS, form.n_item_words))

        def table(n_rows):
            return rng.normal(0, 0.5, (n_rows, form.dim))

        self.tables = {"queries": table(n_query), "diagonal": rng.normal(1, 0.3, form.n_item_words)}
        if form.items in ("mapped", "residual"):
            self.tables["mapped"] = table(n_item)
        if form.items in ("free", "residual"):
            self.tables["items"] = table(N_ITEMS)
        self.x, self.y = (rows.astype(np.float32).astype(np.float64) for rows in (self.x, self.y))
        self.tables = {name: table.astype(np.float32).astype(np.float64) for name, table in self.tables.items()}

    def trainer(self, *, queries_are_items=False, threads=1, **settings):
        """The code under test, on the same numbers."""
        form = self.form
        tables = {name: table.astype(np.float32) for name, table in self.tables.items()}
        absent = np.empty((0, form.dim), np.float32)
        mapped = tables["queries"] if form.items == "tied" else tables.get("mapped", absent)
        made = Tables(tables["queries"], mapped, tables.get("items", absent), tables["diagonal"])
        rows = [sp.csr_array(rows.astype(np.float32)) for rows in (self.x, self.y)]
        low = [sp.csr_array(matrix[:, : form.n_words]) if form.n_words else matrix for matrix in rows]
        how = EmbeddingSettings(
            **{"block": 64, "margin": MARGIN} | settings,
            gamma=form.gamma,
            item_rate=form.item_rate,
            use_diagonal=form.identity != "none",
            learn_diagonal=form.identity == "learned",
        )
        return EmbeddingTrainer(made, TrainingRows(*low, *rows, queries_are_items=queries_are_items), how, threads)


# The oracle: the model, its two losses, and one step.


def project(table, row):
    vector = np.zeros(table.shape[1])
    for word in range(len(table)):
        vector += row[word] * table[word]
    return vector


def item_table(tables, form):
    return tables["queries"] if form.items == "tied" else tables["mapped"]


def item_vector(tables, world, item):
    form = world.form
    vector = np.zeros(form.dim)
    if form.items != "free":
        vector += project(item_table(tables, form), world.y[item])
    if form.items in ("free", "residual"):
        vector += tables["items"][item]
    return vector


def score(tables, world, query, item):
    """f(x, y_i) = (U x) . z_i + sum_w D_w x_w y_iw."""
    total = project(tables["queries"], world.x[query]) @ item_vector(tables, world, item)
    if world.form.identity != "none":
        for word in range(N_WORDS):
            total += tables["diagonal"][word] * world.x[query, word] * world.y[item, word]
    return total


def score_by_words(tables, world, query, item):
    """HTR's k(x, y_i) = (U x) . (U y_i)."""
    return project(tables["queries"], world.x[query]) @ project(tables["queries"], world.y[item])


def views(form):
    """(score, scale of its loss): the model, and with gamma the words alone."""
    return [(score, 1.0), (score_by_words, form.gamma)][: 2 if form.gamma > 0 else 1]


def losses(tables, world, triples_of_views):
    """sum w max(0, margin - f(q, p) + f(q, n)), and gamma times the same on the words alone."""
    total = 0.0
    for (find_score, scale), triples in zip(views(world.form), triples_of_views, strict=True):
        for query, better, worse, weight in triples:
            gap = find_score(tables, world, query, better) - find_score(tables, world, query, worse)
            total += scale * weight * max(0.0, MARGIN - gap)
    return total


def gradient_steps(world, triples_of_views):
    """Minus the gradient of the losses for every table, by the updates of the papers (the lost half restored)."""
    tables, form = world.tables, world.form
    steps = {name: np.zeros_like(table) for name, table in tables.items()}
    for (find_score, scale), triples in zip(views(form), triples_of_views, strict=True):
        for query, better, worse, weight in triples:
            gap = find_score(tables, world, query, better) - find_score(tables, world, query, worse)
            assert abs(gap - MARGIN) > 1e-5, "too near to the margin for float32; take another seed"
            if gap < MARGIN:
                update = step_of_words if find_score is score_by_words else step_of_model
                update(steps, world, query, better, worse, scale * weight)
    return steps


def step_of_model(steps, world, query, better, worse, weight):
    tables, form, x = world.tables, world.form, world.x[query]
    u, dy = project(tables["queries"], x), world.y[better] - world.y[worse]
    dz = item_vector(tables, world, better) - item_vector(tables, world, worse)
    n_query = len(tables["queries"])
    steps["queries"] += weight * np.outer(x[:n_query], dz)
    if form.items != "free":
        step = item_table(steps, form)
        step += weight * np.outer(dy[: len(step)], u)
    if "items" in steps:
        steps["items"][better] += weight * form.item_rate * u
        steps["items"][worse] -= weight * form.item_rate * u
    if form.identity == "learned":
        steps["diagonal"] += weight * x * dy


def step_of_words(steps, world, query, better, worse, weight):
    table, x, dy = world.tables["queries"], world.x[query], world.y[better] - world.y[worse]
    n = len(table)
    steps["queries"] += weight * (np.outer(x[:n], project(table, dy)) + np.outer(dy[:n], project(table, x)))


def mined_triples(world, find_score, pairs, draws, chosen, queries_are_items, n_hardest, queries=None):
    """(query, positive, negative, weight) by the rule of `mine_gradients`, items compared by sorting."""
    found = []
    drawn = list(dict.fromkeys(draws.tolist()))
    for query in np.flatnonzero(np.diff(pairs.indptr)) if queries is None else queries:
        scores = {item: find_score(world.tables, world, query, item) for item in range(N_ITEMS)}
        known = set(pairs[[query]].indices.tolist()) | ({int(query)} if queries_are_items else set())
        candidates = [item for item in drawn if item not in known]
        hardest = sorted(candidates, key=lambda item: -scores[item])[:n_hardest]
        for positive, weight in chosen[query]:
            within = [item for item in candidates if scores[item] > scores[positive] - MARGIN]
            pulling = [item for item in hardest if item in within]
            rank = len(within) / len(drawn) * N_ITEMS
            for negative in pulling:
                share = weight / np.sqrt(len(chosen[query])) / len(pulling)
                found.append((query, positive, negative, share * np.log(1 + rank) / np.log(1 + N_ITEMS)))
    return found


# What the two are given.


class Scripted:
    """A generator that permutes nothing and draws what it is told."""

    def __init__(self, *draws):
        self.draws = iter(draws)  # of one block after the other

    def permutation(self, values):
        return np.arange(values) if isinstance(values, int) else np.asarray(values)

    def integers(self, low, high, size):
        assert (low, high) == (0, N_ITEMS)
        drawn = next(self.draws)
        assert len(drawn) == size
        return drawn

    def random(self, size):
        return np.full(size, 0.5)


def random_triples(seed=1, n=14):
    rng = np.random.default_rng(seed)
    items = np.array([rng.permutation(N_ITEMS)[:2] for _ in range(n)])
    return np.column_stack([rng.integers(0, N_QUERIES, n), items]), rng.random(n).astype(np.float32) + 0.5


def random_pairs(seed=2):
    rng = np.random.default_rng(seed)
    weights = (rng.random((N_QUERIES, N_ITEMS)) + 0.5) * (rng.random((N_QUERIES, N_ITEMS)) < 0.35)
    weights[5] = 0  # a query without pairs is not visited
    weights[3, 2] = 1  # the query without words has one
    return sp.csr_array(weights.astype(np.float32))


def spread(pairs, max_positives, offset=0.5):
    """The positives that a query is trained on: all, or as many as may be, spread evenly over its list."""
    chosen = {}
    for query in range(N_QUERIES):
        row = pairs[[query]]
        n_all, listed = row.nnz, list(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        places = [int((j + offset) * n_all / max_positives) for j in range(max_positives)]
        chosen[query] = listed if n_all <= max_positives else [listed[at] for at in places]
    return chosen


def step_of(trainer, world, train, rate):
    """(change of every table divided by the rate, the loss that the epoch gave)."""
    with trainer.running():
        loss = train(trainer)
    found = {name: getattr(trainer.tables, name).astype(np.float64) for name in world.tables}
    return {name: (found[name] - world.tables[name]) / rate for name in found}, loss


def assert_same_steps(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], atol=2e-4, rtol=1e-4, err_msg=name)
    assert any(step.any() for step in expected.values())


@EACH_FORM
def test_one_block_of_triples_is_the_papers_step(form):
    world, (triples, weights), rate = World(form), random_triples(), 0.01
    given = [[(*triple, weight) for triple, weight in zip(triples.tolist(), weights.tolist(), strict=True)]]
    given *= len(views(form))
    found, loss = step_of(
        world.trainer(), world, lambda t: t.epoch_on_triples(triples, weights, Scripted(), (rate, 0.0)), rate
    )
    assert_same_steps(found, gradient_steps(world, given))
    assert loss == pytest.approx(losses(world.tables, world, given) / len(triples), rel=1e-5)


@pytest.mark.parametrize("queries_are_items", [False, True])
@EACH_FORM
def test_one_block_of_pairs_is_the_papers_step_on_the_mined_triples(form, queries_are_items):
    world, pairs, rate, draws = World(form), random_pairs(), 0.01, np.array([4, 0, 8, 4, 3, 5, 0, 1])
    triples = [
        mined_triples(world, find_score, pairs, draws, spread(pairs, 2), queries_are_items, n_hardest=3)
        for find_score, _ in views(form)
    ]
    trainer = world.trainer(queries_are_items=queries_are_items, n_drawn=len(draws), n_hardest=3, max_positives=2)
    found, loss = step_of(trainer, world, lambda t: t.epoch_on_pairs(pairs, Scripted(draws), (rate, 0.0)), rate)
    assert_same_steps(found, gradient_steps(world, triples))
    n_visits = np.count_nonzero(np.diff(pairs.indptr))
    assert loss == pytest.approx(losses(world.tables, world, triples) / n_visits, rel=1e-5)


@EACH_FORM
def test_the_step_goes_down_the_loss_by_finite_differences(form):
    """Central differences of the oracle's loss, entry by entry, against what the trainer changed."""
    form = replace(form, item_rate=1.0)  # another rate of the items is no gradient
    world, pairs, rate, draws = World(form, seed=3), random_pairs(), 0.01, np.arange(N_ITEMS)
    triples = [
        mined_triples(world, find_score, pairs, draws, spread(pairs, 9), True, n_hardest=4)
        for find_score, _ in views(form)
    ]
    trainer = world.trainer(queries_are_items=True, n_drawn=len(draws), n_hardest=4, max_positives=9)
    found, _ = step_of(trainer, world, lambda t: t.epoch_on_pairs(pairs, Scripted(draws), (rate, 0.0)), rate)
    learned = [name for name in found if name != "diagonal" or form.identity == "learned"]
    rng = np.random.default_rng(0)
    for name in learned:
        for entry in rng.permutation(list(np.ndindex(found[name].shape)))[:8]:
            slopes = [losses(moved(world.tables, name, tuple(entry), h), world, triples) for h in (1e-6, -1e-6)]
            expected = (slopes[1] - slopes[0]) / 2e-6
            assert found[name][tuple(entry)] == pytest.approx(expected, abs=3e-4), (name, entry)


def moved(tables, name, entry, h):
    changed = {key: table.copy() for key, table in tables.items()}
    changed[name][entry] += h
    return changed


@EACH_FORM
def test_blocks_follow_each_other_with_a_falling_rate(form):
    """Blocks of three triples: each sees what the one before has left; the rate falls in a straight line."""
    world, (triples, weights) = World(form), random_triples(n=8)
    trainer = world.trainer(block=3)
    with trainer.running():
        trainer.epoch_on_triples(triples, weights, Scripted(), (0.2, 0.1))
    for start in (0, 3, 6):
        part = slice(start, start + 3)
        given = [[(*t, w) for t, w in zip(triples[part].tolist(), weights[part].tolist(), strict=True)]]
        rate = 0.2 - 0.1 * start / 8
        for name, step in gradient_steps(world, given * len(views(form))).items():
            world.tables[name] += rate * step
    for name, expected in world.tables.items():
        np.testing.assert_allclose(getattr(trainer.tables, name), expected, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("name", ["uu+d", "d", "htr", "residual+i"])
def test_blocks_of_pairs_follow_each_other(name):
    """Blocks of two queries, each with its own draws: nothing of the pool before may be left."""
    world, pairs = World(FORMS[name]), random_pairs()
    draws = np.array([[4, 0, 8, 4], [8, 3, 5, 0], [0, 4, 1, 7]])
    visits = np.flatnonzero(np.diff(pairs.indptr))
    trainer = world.trainer(queries_are_items=True, block=2, n_drawn=4, n_hardest=3, max_positives=2)
    with trainer.running():
        trainer.epoch_on_pairs(pairs, Scripted(*draws), (0.05, 0.05))
    for drawn, start in zip(draws, range(0, len(visits), 2), strict=True):
        block = visits[start : start + 2]
        triples = [
            mined_triples(world, find_score, pairs, drawn, spread(pairs, 2), True, 3, block)
            for find_score, _ in views(world.form)
        ]
        for name_of, step in gradient_steps(world, triples).items():
            world.tables[name_of] += 0.05 * step
    for name_of, expected in world.tables.items():
        np.testing.assert_allclose(getattr(trainer.tables, name_of), expected, atol=2e-5, err_msg=name_of)


@EACH_FORM
def test_threads_do_not_change_a_bit(form):
    pairs, (triples, weights) = random_pairs(), random_triples()
    seen = []
    for threads in (1, 2, 4, 8):
        trainer, rng = (
            World(form).trainer(queries_are_items=True, threads=threads, block=4, n_drawn=5),
            np.random.default_rng(0),
        )
        with trainer.running():
            found = [
                trainer.epoch_on_pairs(pairs, rng, (0.1, 0.05)),
                trainer.epoch_on_triples(triples, weights, rng, (0.1, 0.05)),
            ]
        tables = trainer.tables
        seen.append((found, [t.tobytes() for t in (tables.queries, tables.mapped, tables.items, tables.diagonal)]))
    assert all(other == seen[0] for other in seen[1:])


@EACH_FORM
def test_renumbering_the_items_of_triples_changes_rounding_only(form):
    """Draws go by item number, so training on pairs is not indifferent to it; training on triples is."""
    world, renumbered, (triples, weights) = World(form), World(form), random_triples()
    order = np.random.default_rng(5).permutation(N_ITEMS)  # new item i is old item order[i]
    renumbered.y = world.y[order]
    if "items" in world.tables:
        renumbered.tables["items"] = world.tables["items"][order]
    new_number = np.argsort(order)
    moved_triples = np.column_stack([triples[:, 0], new_number[triples[:, 1:]]])
    trainers = world.trainer(block=4), renumbered.trainer(block=4)
    for trainer, given in zip(trainers, (triples, moved_triples), strict=True):
        with trainer.running():
            trainer.epoch_on_triples(given, weights, np.random.default_rng(0), (0.1, 0.0))
    for name in world.tables:
        old, new = (getattr(trainer.tables, name) for trainer in trainers)
        np.testing.assert_allclose(new, old[order] if name == "items" else old, atol=1e-5, err_msg=name)


def test_a_fixed_diagonal_and_still_items_do_not_move():
    world, (triples, weights) = World(FORMS["residual+i"]), random_triples()
    world.form = replace(world.form, item_rate=0.0)
    trainer = world.trainer()
    with trainer.running():
        trainer.epoch_on_triples(triples, weights, np.random.default_rng(0), (0.1, 0.1))
    assert np.array_equal(trainer.tables.diagonal, world.tables["diagonal"].astype(np.float32))
    assert np.array_equal(trainer.tables.items, world.tables["items"].astype(np.float32))
    assert not np.array_equal(trainer.tables.mapped, world.tables["mapped"].astype(np.float32))


def test_tied_tables_stay_tied_in_a_copy():
    trainer = World(FORMS["uu"]).trainer()
    trainer.state.keep_best()
    copy = Tables.of(trainer.state.copies["best"])
    assert copy.mapped is copy.queries
    assert copy.queries is not trainer.tables.queries


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e7, -1e7])
@pytest.mark.parametrize("name", ["queries", "mapped", "items", "diagonal"])
def test_tables_are_sound_until_a_number_is_not(name, bad):
    trainer = World(FORMS["residual+d"]).trainer()
    assert trainer.state.is_sound()
    getattr(trainer.tables, name).flat[-1] = bad
    assert not trainer.state.is_sound()
