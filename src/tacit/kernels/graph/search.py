"""Search in a hierarchical graph of neighbours (HNSW) for the vectors with the largest inner products with a query.

Node v has its neighbours of level 0 at neighbors[offsets[v] : offsets[v] + 2 n_links], those of level l > 0 in the
n_links places that follow those of level l - 1; a list ends at its first -1. row_of_node is the row of the node's
vector, or -1 where the item was removed: then the neighbours of such a node are visited in its place.
"""

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "arcp", "nsz"}  # sums may be reordered; NaN keeps its meaning


@njit(cache=True, nogil=True, fastmath=FAST)
def inner_product(a, b):
    """a . b in float32."""
    total = np.float32(0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@njit(cache=True, nogil=True)
def descend(vectors, row_of_node, neighbors, offsets, n_links, entry, query):
    """The node to start from on level 0, by moving to better neighbours on each higher level; and its score."""
    node = entry
    score = inner_product(query, vectors[row_of_node[node]]) if row_of_node[node] >= 0 else np.float32(-np.inf)
    for level in range((offsets[entry + 1] - offsets[entry]) // n_links - 2, 0, -1):
        improved = True
        while improved:
            improved = False
            first = offsets[node] + (level + 1) * n_links
            for t in range(first, first + n_links):
                other = neighbors[t]
                if other < 0:
                    break
                if row_of_node[other] < 0:
                    continue
                found = inner_product(query, vectors[row_of_node[other]])
                if found > score:
                    node, score, improved = other, found, True
    return node, score


@njit(cache=True, nogil=True)
def insert_sorted(nodes, scores, expanded, size, node, score):
    """Put a node into the list of the best, best first; return its place."""
    at = min(size, len(nodes) - 1)
    while at > 0 and scores[at - 1] < score:
        nodes[at], scores[at], expanded[at] = nodes[at - 1], scores[at - 1], expanded[at - 1]
        at -= 1
    nodes[at], scores[at], expanded[at] = node, score, False
    return at


@njit(cache=True, nogil=True)
def visit(vectors, row_of_node, neighbors, start, stop, query, visited, nodes, scores, expanded, size):
    """Score the living nodes of a list that are not visited yet; return how many are kept, and the first new place."""
    nearest = len(nodes)
    for t in range(start, stop):
        other = neighbors[t]
        if other < 0:
            break
        if visited[other] or row_of_node[other] < 0:
            continue
        visited[other] = True
        score = inner_product(query, vectors[row_of_node[other]])
        if size < len(nodes) or score > scores[size - 1]:
            nearest = min(nearest, insert_sorted(nodes, scores, expanded, size, other, score))
            size = min(size + 1, len(nodes))
    return size, nearest


@njit(cache=True, nogil=True)
def search_graph(vectors, row_of_node, neighbors, offsets, n_links, entry, query, breadth, rows):
    """Fill rows with those of the best vectors found, best first, -1 at the end; `breadth` nodes are kept on the way.

    A node is expanded when it is the best of those kept that are not expanded yet; the search ends when all are.
    """
    nodes, scores = np.empty(breadth, np.int64), np.empty(breadth, np.float32)
    expanded, visited = np.zeros(breadth, np.bool_), np.zeros(len(row_of_node), np.bool_)
    nodes[0], scores[0] = descend(vectors, row_of_node, neighbors, offsets, n_links, entry, query)
    visited[nodes[0]] = True
    size, at, width = 1, 0, 2 * n_links
    while at < size:
        if expanded[at]:
            at += 1
            continue
        expanded[at] = True
        first, nearest = offsets[nodes[at]], at + 1
        kept = vectors, row_of_node, neighbors
        found = query, visited, nodes, scores, expanded
        size, place = visit(*kept, first, first + width, *found, size)
        nearest = min(nearest, place)
        for t in range(first, first + width):
            other = neighbors[t]
            if other < 0:
                break
            if row_of_node[other] < 0 and not visited[other]:
                visited[other] = True
                size, place = visit(*kept, offsets[other], offsets[other] + width, *found, size)
                nearest = min(nearest, place)
        at = nearest
    n_found = 0
    for place in range(size):
        if row_of_node[nodes[place]] >= 0 and n_found < len(rows):
            rows[n_found] = row_of_node[nodes[place]]
            n_found += 1
    rows[n_found:] = -1
