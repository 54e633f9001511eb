"""Search a hierarchical neighbour graph (HNSW) for the vectors with the largest inner products with a query.

The level-0 neighbours of node v are neighbors[offsets[v] : offsets[v] + 2 n_links]. The neighbours on level l > 0 are
in the n_links places after level l - 1. A list ends at its first -1. row_of_node is the row of the node's vector, or -1
if the item was removed; the search then visits the neighbours of that node instead.
"""

import numpy as np

from tacit.kernels.loops import njit
from tacit.kernels.rows import dot


@njit(cache=True, nogil=True)
def descend(vectors, row_of_node, neighbors, offsets, n_links, entry, query):
    """Move to better neighbours on each higher level; return the start node for level 0 and its score."""
    node = entry
    score = dot(query, vectors[row_of_node[node]]) if row_of_node[node] >= 0 else np.float32(-np.inf)
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
                found = dot(query, vectors[row_of_node[other]])
                if found > score:
                    node, score, improved = other, found, True
    return node, score


@njit(cache=True, nogil=True)
def insert_sorted(nodes, scores, expanded, size, node, score):
    """Insert a node into the sorted list of the best; return its position."""
    at = min(size, len(nodes) - 1)
    while at > 0 and scores[at - 1] < score:
        nodes[at], scores[at], expanded[at] = nodes[at - 1], scores[at - 1], expanded[at - 1]
        at -= 1
    nodes[at], scores[at], expanded[at] = node, score, False
    return at


@njit(cache=True, nogil=True)
def visit(vectors, row_of_node, neighbors, start, stop, query, visited, nodes, scores, expanded, size):
    """Score the unvisited nodes of a list that are not removed; return the list size and the first new position."""
    nearest = len(nodes)
    for t in range(start, stop):
        other = neighbors[t]
        if other < 0:
            break
        if visited[other] or row_of_node[other] < 0:
            continue
        visited[other] = True
        score = dot(query, vectors[row_of_node[other]])
        if size < len(nodes) or score > scores[size - 1]:
            nearest = min(nearest, insert_sorted(nodes, scores, expanded, size, other, score))
            size = min(size + 1, len(nodes))
    return size, nearest


@njit(cache=True, nogil=True)
def search_graph(vectors, row_of_node, neighbors, offsets, n_links, entry, query, breadth, rows):
    """Fill rows with the rows of the best vectors found, best first, padded with -1; the list has `breadth` nodes.

    Each step expands the best node in the list that is not yet expanded; the search ends when all are expanded.
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
