"""Training and search on a cluster give the bits of one machine, also where a machine is lost in mid-epoch."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, TacitError, UsageError
from tacit.distributed import InProcessBackend, ray_cluster, spread_items
from tacit.distributed.cluster import _find, _internals
from tacit.distributed.owners import Owners
from tacit.distributed.parted_embedding import PartedTrainer
from tacit.distributed.search import PartedSearch
from tacit.retrieve import Checkpoint, get_method

N_ITEMS, N_QUERIES = 300, 80


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    items = sp.csr_array(sp.random_array((N_ITEMS, 200), density=0.08, rng=rng, format="csr", dtype=np.float32))
    items.sort_indices()
    links = Links(rng.integers(0, N_ITEMS, 900), rng.integers(0, N_ITEMS, 900), N_ITEMS, N_ITEMS)
    pairs = Links(links.sources % N_QUERIES, links.targets, N_QUERIES, N_ITEMS)
    triples = np.stack([rng.integers(0, 40, 300), rng.integers(0, 150, 300), rng.integers(150, N_ITEMS, 300)], 1)
    return SimpleNamespace(
        items=items, queries=sp.csr_array(items[:N_QUERIES]), links=links, pairs=pairs, triples=triples
    )


def fitted(world, name, kind, *, checkpoint=None, validation=None, **params):
    queries = world.items if kind == "links" else world.queries
    ranker = get_method(name).make(**{"dim": 6, "n_epochs": 2, "threads": 1} | params)
    return ranker.fit(queries, world.items, getattr(world, kind), validation, checkpoint=checkpoint)


def bits(ranker):
    arrays = (ranker.query_table_, ranker.item_table_, ranker.item_vectors_, ranker.diagonal_)
    return [np.ascontiguousarray(array).tobytes() for array in arrays], ranker.epochs_


def at_block(monkeypatch, number, action):
    """Let something happen while a block is computed, after its vectors were taken."""
    blocks, take = iter(range(1, 10_000)), PartedTrainer._take

    def taken(self, queries, items):
        found = take(self, queries, items)
        if next(blocks) == number:
            action(self)
        return found

    monkeypatch.setattr(PartedTrainer, "_take", taken)


@pytest.mark.parametrize(
    ("name", "kind", "params"),
    [
        ("htr", "links", {}),
        ("htr-residual", "links", {"n_epochs": None, "max_epochs": 2, "threads": 2}),
        ("htr-identity", "triples", {}),
        ("ssi-uv-n", "pairs", {"n_words": 50}),
    ],
)
def test_models_have_the_bits_of_one_machine(world, on_cluster, name, kind, params):
    alone = fitted(world, name, kind, **params)
    with on_cluster():
        parted = fitted(world, name, kind, partitions=5, **params)
    assert bits(parted) == bits(alone)
    assert (alone.partitions, parted.partitions) == (None, 5)


def test_owners_validate_and_few_vectors_come_here(world, on_cluster, monkeypatch):
    """Of many items, validation ranks a sample."""
    monkeypatch.setattr("tacit.retrieve.margin.tasks.MOST_ITEMS", 100)
    monkeypatch.setattr("tacit.retrieve.margin.tasks.SAMPLED_ITEMS", 90)
    monkeypatch.setattr("tacit.metrics.full_ranking.SORT_FROM", 2)
    known = world.links.to_csr()
    drawn = Links(*np.random.default_rng(1).integers(0, N_ITEMS, (2, 60)), N_ITEMS, N_ITEMS)
    new = drawn.take([known[a, b] == 0 for a, b in zip(drawn.sources, drawn.targets, strict=True)])
    params = {"n_epochs": None, "max_epochs": 2, "validation": new.take(new.sources != new.targets)}
    alone = fitted(world, "htr", "links", **params)
    taken, take, count = [], Owners.take_vectors, Owners.count_places
    with on_cluster():
        monkeypatch.setattr(
            Owners,
            "take_vectors",
            lambda self, name, items: taken.append((name, len(items))) or take(self, name, items),
        )
        monkeypatch.setattr(Owners, "count_places", lambda *args: taken.append("counted") or count(*args))
        parted = fitted(world, "htr", "links", partitions=4, **params)
    assert bits(parted) == bits(alone)
    assert parted.validation_items_ == alone.validation_items_ < N_ITEMS
    before = [taken[place - 1] for place, what in enumerate(taken) if what == "counted"]
    n_relevant = len(np.unique(params["validation"].targets))
    assert before == [("average", n_relevant)] * 2
    assert n_relevant < parted.validation_items_


def test_a_checkpoint_of_a_cluster_goes_on_on_one_machine(world, on_cluster, monkeypatch, tmp_path):
    alone = fitted(world, "htr", "links")
    kept = Checkpoint(tmp_path / "kept", every=0)
    at_block(monkeypatch, 7, lambda trainer: (_ for _ in ()).throw(KeyboardInterrupt))
    with on_cluster(), pytest.raises(KeyboardInterrupt):
        fitted(world, "htr", "links", checkpoint=kept, partitions=2)
    assert bits(fitted(world, "htr", "links", checkpoint=tmp_path / "kept")) == bits(alone)


def test_a_lost_owner_without_a_checkpoint_is_one_line(world, on_cluster, monkeypatch):
    at_block(monkeypatch, 3, lambda trainer: trainer._owners.owners[1].end())
    line = "the machine with items 150 to 299 was lost in training; with a checkpoint .* would have resumed"
    with on_cluster(), pytest.raises(TacitError, match=line):
        fitted(world, "htr", "links", partitions=2)


def test_search_in_parts_has_the_answers_of_one_machine(world, on_cluster):
    ranker = fitted(world, "htr-residual", "links")
    exclude = sp.csr_array(world.links.to_csr()[:N_QUERIES] > 0)
    alone = [ranker.rank(world.queries, 70, exclude=exclude), ranker.rank(world.queries[:1], 1)]
    with on_cluster():
        spread_items(ranker, 5)
        ranker.rank_in_parts.__self__.owners[0].end()
        parted = [ranker.rank(world.queries, 70, exclude=exclude), ranker.rank(world.queries[:1], 1)]
    for one, other in zip(alone, parted, strict=True):
        assert (one.items.tobytes(), one.scores.tobytes()) == (other.items.tobytes(), other.scores.tobytes())


def test_what_a_cluster_cannot_do_is_one_line(world, on_cluster):
    with on_cluster():
        with pytest.raises(UsageError, match='negatives="uniform" takes one triple a step'):
            fitted(world, "htr", "links", recipe="printed")
        with pytest.raises(UsageError, match="cannot search for QueryExpansionRanker: it has scores that depend"):
            spread_items(get_method("qe").make().fit(None, world.items))
    with pytest.raises(UsageError, match="spread_items has no cluster, want it within ray_cluster"):
        spread_items(get_method("tfidf").make().fit(None, world.items))


def test_a_lost_owner_with_a_checkpoint_changes_no_bit(world, on_cluster, monkeypatch, tmp_path):
    alone = fitted(world, "htr", "links")
    starts = count_starts(monkeypatch)
    at_block(monkeypatch, 7, lambda trainer: trainer._owners.owners[1].end())
    with on_cluster():
        parted = fitted(world, "htr", "links", checkpoint=Checkpoint(tmp_path / "kept", every=0))
    assert bits(parted) == bits(alone)
    assert starts == [0, 1, 2, 1]


def test_an_owner_that_is_lost_again_and_again_is_one_line(world, on_cluster, monkeypatch):
    ranker = fitted(world, "htr", "links")
    start = PartedSearch._start
    with on_cluster():
        spread_items(ranker, 2)
        search = ranker.rank_in_parts.__self__
        monkeypatch.setattr(search, "_start", lambda part: ended(start(search, part)))
        search.owners[1].end()
        with pytest.raises(TacitError, match="^the owner of items 150 to 299 was lost 10 times; check that it has"):
            ranker.rank(world.queries, 5)


def ended(owner):
    owner.end()
    return owner


def test_there_are_no_more_owners_than_items():
    words, vectors = sp.csr_array(np.eye(2, dtype=np.float32)), np.array([[1.0, 2], [3, 4]], np.float32)
    owners = Owners(InProcessBackend(), words, vectors, 5)
    assert (len(owners.owners), owners.extremes("live")) == (2, (0.0, 4.0))


def count_starts(monkeypatch):
    starts, start = [], Owners._start
    monkeypatch.setattr(Owners, "_start", lambda self, part: starts.append(part) or start(self, part))
    return starts


def test_auto_joins_no_cluster_of_another_command(machines, monkeypatch):
    """Ray finds all clusters of a machine; only `ray start` leaves an address in a file, and `Cluster`."""
    assert _find() == machines.address
    _, services = _internals()
    monkeypatch.setattr(services, "find_bootstrap_address", lambda folder: None)
    assert services.find_gcs_addresses()
    assert _find() is None


def test_a_machine_lost_in_mid_epoch_changes_no_bit(world, machines, monkeypatch, tmp_path):
    """The cluster has two machines after it."""
    import ray

    params = {"n_epochs": None, "max_epochs": 3, "partitions": 6}
    alone = fitted(world, "htr-residual", "links", **params)
    starts, here = count_starts(monkeypatch), node_of(None)  # this process does not survive the loss of its own machine

    def lose(trainer):
        homes = {ray.get(owner._actor.__ray_call__.remote(node_of)) for owner in trainer._owners.owners} - {here}
        lost = next(node for node in machines.worker_nodes if node.node_id in homes)
        machines.remove_node(lost, allow_graceful=False)

    at_block(monkeypatch, 40, lose)
    with ray_cluster(machines.address):
        parted = fitted(world, "htr-residual", "links", checkpoint=Checkpoint(tmp_path / "kept", every=0.3), **params)
    assert bits(parted) == bits(alone)
    assert len(starts) > 6


def node_of(_):
    import ray

    return ray.get_runtime_context().get_node_id()
