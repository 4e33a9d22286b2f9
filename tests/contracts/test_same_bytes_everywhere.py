"""The same bytes on every machine with fused multiply-add, whatever the width of its vectors: recorded results.

A change to the order of a sum changes these digests: say so in the CHANGELOG and record the new ones, which the failing
test prints.
"""

import hashlib

import numpy as np
import pytest

from linnet import _native
from linnet.data.rows import Rows
from linnet.fit.loop.optimizers import Adam
from linnet.fit.loop.training import Plan, Training

from .cases import DTYPES, Array
from .test_determinism import CASE, network_of

DIGESTS = {
    "no hidden": ("e7a0d436693bab0d", "b920af2d6a3daf6a"),
    "one input": ("e56d45d9aad55006", "bc18245f5f44ca7f"),
    "thin, no hidden": ("bc186fa3d72db4e0", "ea0c5e41028f234d"),
    "thin, 37 inputs": ("bca4449070772ffd", "b94e484ab6c15301"),
    "thin, 901 inputs": ("6431f4b88a1ae1bb", "93dc7eff974e27fe"),
    "thin, hidden": ("05d10d915eb07dc9", "16bb46165aaea02e"),
    "thin, 300 inputs, hidden": ("8b9ba4484f1b0bab", "e00dd0e19c546a07"),
    "17 outputs": ("dc5c4e6da66ecf16", "8ed5112a11e58f22"),
    "one input, hidden": ("5e3d1f313e1b5ce5", "e678bac390f8cef8"),
    "odd": ("6cfeb0be844c277e", "710e2ecf1f2951b3"),
    "three hidden": ("78952b6cb74dbe33", "59922e747638b262"),
    "thin, in the middle": ("f7a9c0e8c5ca6a5d", "5c329038cf81c642"),
    "wide": ("e3bf32283097f0c5", "2dd068547e6f77a3"),
    "wide after thin": ("27d301487458a9a8", "c762ec4ebbea1c69"),
}  # of theta and of the loss with its penalty, in float32 and float64
FACTOR = "c45b42d7fab14af1"


def plain_numbers(*shape: int) -> Array:
    """Multiples of 1/64 in [-1, 1): no library's generator is asked."""
    counter = np.arange(np.prod(shape), dtype=np.uint64)
    return (((counter * np.uint64(2654435761)) >> np.uint64(7)) % np.uint64(128)).reshape(shape) / 64 - 1


fused = pytest.mark.skipif(not _native.core.has_fma, reason="without fused multiply-add the last bits differ")


@fused
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", DIGESTS)
def test_a_training_gives_the_bytes_it_always_gave(shape: str, dtype: str) -> None:
    network = network_of(shape)
    x = plain_numbers(1100, network.inputs).astype(dtype)
    rows = Rows(x, labels=(np.arange(1100) ** 2 % CASE.outputs).astype(np.int32))
    theta = (plain_numbers(network.size) / 8).astype(dtype)
    digest = hashlib.sha256()
    # separate kernels for one row, a batch, a batch in chunks, and a clipped gradient
    for batch, clip in ((1, None), (32, None), (600, None), (50, 0.1)):
        plan = Plan(Adam(0.01, clip_norm=clip), batch_size=batch)
        training = Training(network, theta, rows[:100] if batch == 1 else rows, plan)
        (record,) = training
        digest.update(training.theta.tobytes() + np.float64(record.numbers["loss"]).tobytes())
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
