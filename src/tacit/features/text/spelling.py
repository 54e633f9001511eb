"""The spelling of words: their runs of four characters, as sparse rows.

Runs are numbered by a hash, so no table of runs is needed for words of later texts. With a vocabulary of 40,000 runs,
about one in 25 shares its number with another run; words are still distinct, because they have several runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from tacit.features.text.counting import count_matrix

N_CHARACTERS = 4
N_RUNS = 1 << 20  # numbers of runs
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio


def spelling_rows(words: Sequence[str]) -> sp.csr_array:
    """Return the count of each run of four characters in each word, float32 (n_words, N_RUNS).

    A shorter word is one run.

    >>> rows = spelling_rows(["retrieve", "retrieval", "sea", "season"])
    >>> (rows @ rows.T).toarray().astype(int)[0].tolist(), rows[[2]].nnz
    ([5, 4, 0, 0], 1)
    """
    lengths = np.array([len(word) for word in words], np.int64)
    padded = np.maximum(lengths, N_CHARACTERS)
    spelled = "".join(word.ljust(N_CHARACTERS, "\0") for word in words)
    characters = np.frombuffer(spelled.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    n_runs = padded - N_CHARACTERS + 1
    first = np.cumsum(n_runs) - n_runs
    starts = np.arange(n_runs.sum()) + np.repeat(np.cumsum(padded) - padded - first, n_runs)
    hashes = np.zeros(len(starts), np.uint64)
    for place in range(N_CHARACTERS):
        hashes = (hashes ^ characters[starts + place]) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
    columns = (hashes % np.uint64(N_RUNS)).astype(np.int64)
    return count_matrix(np.repeat(np.arange(len(words)), n_runs), columns, (len(words), N_RUNS))
