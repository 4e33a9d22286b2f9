"""Operations on columns, against the same numbers in one table."""

from typing import Any

import numpy as np
import scipy.sparse

from linnet.data.columns import Columns


def test_the_ends_of_groups() -> None:
    rng = np.random.default_rng(0)
    rows, groups = 50, 4
    dense = rng.normal(size=(rows, 3))
    matrix: Any = scipy.sparse.random_array((rows, 6), density=0.2, rng=rng, format="csr")
    matrix.data -= 0.5
    codes = rng.integers(-1, 5, rows).astype(np.int8)
    group = rng.choice([-1, 0, 1, 3], rows)  # a group without rows, and rows without a group
    codes[group == 3] = 2  # all rows of a group have the same level
    parts = matrix.indptr.astype(np.int64), matrix.indices, matrix.data
    columns = Columns(rows, (dense[:, :2], dense[:, 2:]), parts, 6, (codes,), (5,))
    plain = np.hstack([dense, matrix.toarray(), codes[:, None] == np.arange(5)])
    low, high = columns.ends(group, groups)
    for of in range(groups):
        mine = plain[group == of]
        np.testing.assert_array_equal(low[of], mine.min(axis=0, initial=np.inf))
        np.testing.assert_array_equal(high[of], mine.max(axis=0, initial=-np.inf))
