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
    "no hidden": ("e2152519079aa26c", "e62fd5e2caeadb66"),
    "one input": ("b741e130b8ed150b", "1aa75e51616e74eb"),
    "thin, no hidden": ("0572232c3a33f2bd", "d27f2c35121d2cd7"),
    "thin, 37 inputs": ("7f1bc5e3294b3133", "9becd44b09ea42cc"),
    "thin, 901 inputs": ("8c832fc169cc6912", "c1f2ab24eaaaac90"),
    "thin, hidden": ("25394471ee55a726", "e6f3891d21481338"),
    "17 outputs": ("51e059c6aebcc367", "a7050c3eb9ed8c2a"),
    "one input, hidden": ("b03c3956a36495d2", "8e0e83dbae1d7b0a"),
    "odd": ("7c84799ba08383f4", "88ef3b99007929fe"),
    "three hidden": ("9e43fd39100191cc", "ece8cc8c650d2853"),
    "thin, in the middle": ("ce0dc303ec285008", "4e61965e56fbc0f7"),
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
