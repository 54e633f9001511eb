"""Hash kernels pair by pair against the plain sum."""

import numpy as np
import scipy.sparse as sp

from tacit.kernels.hashed_scoring import score_hashed_pairs


def test_hashed_pairs_are_the_plain_sum():
    rng = np.random.default_rng(0)
    items = sp.csr_array(rng.random((5, 7)) * (rng.random((5, 7)) < 0.5), dtype=np.float32)
    query = sp.csr_array(rng.random((1, 7)) * (rng.random((1, 7)) < 0.5), dtype=np.float32)
    places, prime, out = rng.normal(size=11).astype(np.float32), 13, np.zeros(5, np.float32)
    words = query.indices.astype(np.int64)
    score_hashed_pairs(words, query.data, items.indptr, items.indices, items.data, places, prime, out)
    table = places[(np.arange(7)[:, None] * prime + np.arange(7)[None, :]) % 11]
    np.testing.assert_allclose(out, (query.toarray() @ table @ items.toarray().T)[0], rtol=1e-5)
