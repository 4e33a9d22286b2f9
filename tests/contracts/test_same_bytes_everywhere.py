"""The same bytes on every machine with fused multiply-add, whatever the width of its vectors: results that were once
written down. A change to the order of a sum changes these digests: say so in the CHANGELOG and write down the new ones,
which the failing test prints.
"""

import hashlib

import numpy as np
import pytest

from linnet import _native
from linnet.data.rows import Rows
from linnet.fit.loop import Plan, Training
from linnet.fit.optimizers import Adam

from .cases import DTYPES, Array
from .test_determinism import CASE, network_of

DIGESTS = {
    "no hidden": ("fa5a9ce9ec872ec1", "0a7f223383bf4135"),
    "one input": ("f932b6fd4713f60f", "99477f49b3729bab"),
    "thin, no hidden": ("d2e7ab3f9ea9c66c", "bd955c2a8d975ed0"),
    "thin, 37 inputs": ("f5274f6eb81ad963", "a1e1757f2c34b82f"),
    "thin, 901 inputs": ("11584227b27fd13b", "dfc130d18f3ab070"),
    "thin, hidden": ("daf812038c1f9e70", "e2175d49e0c92c4c"),
    "17 outputs": ("e1119e4262394dea", "c187735ea99ac944"),
    "one input, hidden": ("305e8540cde6666e", "6bab034ab99964d1"),
    "odd": ("d79136544a90e85c", "3a55f330eac1e8bb"),
    "three hidden": ("f07f7ec3fb061ee2", "8535c4cf5d96ef52"),
    "wide": ("a83430fbb3dfe58e", "55475ec2dc81d993"),
    "wide after thin": ("55fc5a584b0299c8", "df8c4f1fffcb18d6"),
}  # of theta, in float32 and float64
FACTOR = "c45b42d7fab14af1"


def plain_numbers(*shape: int) -> Array:
    """Multiples of 1/64 in [-1, 1): no library's generator is asked."""
    counter = np.arange(np.prod(shape), dtype=np.uint64)
    return (((counter * np.uint64(2654435761)) >> np.uint64(7)) % np.uint64(128)).reshape(shape) / 64 - 1


fused = pytest.mark.skipif(_native.isa not in ("v3", "v4"), reason="without fused multiply-add the last bits differ")


@fused
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", DIGESTS)
def test_a_training_gives_the_bytes_it_always_gave(shape: str, dtype: str) -> None:
    network = network_of(shape)
    x = plain_numbers(1100, network.inputs).astype(dtype)
    rows = Rows(x, labels=(np.arange(1100) ** 2 % CASE.outputs).astype(np.int32))
    theta = (plain_numbers(network.size) / 8).astype(dtype)
    digest = hashlib.sha256()
    for batch in (1, 32, 600):  # kernels of their own for one row, for a batch, and for a batch in chunks
        training = Training(network, theta, rows[:100] if batch == 1 else rows, Plan(Adam(0.01), batch_size=batch))
        assert len(list(training)) == 1
        digest.update(training.theta.tobytes())
    assert digest.hexdigest()[:16] == DIGESTS[shape][DTYPES.index(dtype)]


@fused
def test_a_factor_gives_the_bytes_it_always_gave() -> None:
    x = plain_numbers(300, 100) + np.eye(300, 100)
    a = x.T @ x  # exact: multiples of 1/4096
    kept = np.empty(100, np.uint8)
    _native.core.cholesky(a, 1e-10, kept)
    right = plain_numbers(3, 100)
    _native.core.cholesky_solve(a, kept, right)
    assert hashlib.sha256(a.tobytes() + kept.tobytes() + right.tobytes()).hexdigest()[:16] == FACTOR
