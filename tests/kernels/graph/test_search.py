"""A search that keeps as many nodes as the graph has visits all of them: sorting all products is the oracle."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.graph.search import search_graph

N_LINKS = 2


def ring(n_nodes, top):
    """Each node is joined to the two before and the two behind it; the first `top` nodes are on a second level too."""
    neighbors, offsets = [], [0]
    for node in range(n_nodes):
        near = sorted({(node + step) % n_nodes for step in (-2, -1, 1, 2)} - {node})
        neighbors += near + [-1] * (2 * N_LINKS - len(near))
        if node < top:
            above = [other for other in (node - 1, node + 1) if 0 <= other < top]
            neighbors += above + [-1] * (N_LINKS - len(above))
        offsets.append(len(neighbors))
    return np.array(neighbors, np.int32), np.array(offsets, np.int64)


@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(3, 40), n_removed=st.integers(0, 1), top=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_a_wide_search_finds_what_sorting_finds(seed, n_nodes, n_removed, top):
    rng = np.random.default_rng(seed)
    removed = rng.choice(n_nodes, n_removed, replace=False)
    vectors = rng.normal(size=(n_nodes - n_removed, 4)).astype(np.float32)
    row_of_node = np.full(n_nodes, -1, np.int64)
    row_of_node[np.setdiff1d(np.arange(n_nodes), removed)] = np.arange(n_nodes - n_removed)
    query, rows = rng.normal(size=4).astype(np.float32), np.empty(5, np.int64)
    search_graph(vectors, row_of_node, *ring(n_nodes, top), N_LINKS, 0, query, n_nodes, rows)
    expected = np.argsort(-(vectors @ query), kind="stable")[:5]
    assert rows[rows >= 0].tolist() == expected.tolist()


def test_a_narrow_search_climbs_to_the_best_of_its_neighbourhood():
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    rows = np.empty(3, np.int64)
    search_graph(vectors, np.arange(60), *ring(60, 1), N_LINKS, 0, vectors[20], 4, rows)
    assert rows[0] == 20
    assert set(rows.tolist()) == {19, 20, 21}
