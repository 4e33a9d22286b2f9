"""Types of the native core: core/bindings/, built as linnet._core_v2, linnet._core_v3, ...

There is no module of this name at run time; `from linnet._native import core` gives the one in use.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[Any]
_Labels = NDArray[np.int32] | None
_Doubles = NDArray[np.float64]
_CustomLoss = Callable[[_Doubles, _Doubles], tuple[_Doubles, _Doubles]]

isa: str
compiler: str
vector_bytes: int
has_fma: bool

def supported() -> list[str]: ...

class Activation: ...

class Family:
    __members__: Mapping[str, Family]

def head_rows(
    family: Family,
    parameter: float,
    z: NDArray[np.float64],
    labels: _Labels = None,
    values: NDArray[np.float64] | None = None,
    mean: NDArray[np.float64] | None = None,
    loss: NDArray[np.float64] | None = None,
    slope: NDArray[np.float64] | None = None,
    curvature: NDArray[np.float64] | None = None,
    expected: bool = False,
) -> None: ...

class LbfgsHistoryF64:
    def __init__(self, size: int, dual_size: int, memory: int, threads: int) -> None: ...
    def __len__(self) -> int: ...
    def clear(self) -> None: ...
    def push(self, s: NDArray[np.float64], y: NDArray[np.float64]) -> None: ...
    def forward(self, q: NDArray[np.float64]) -> None: ...
    def backward(self, r: NDArray[np.float64]) -> None: ...

class LbfgsHistoryF32(LbfgsHistoryF64): ...

def has_duplicates(start: NDArray[np.int64], column: NDArray[Any], cols: int) -> bool: ...

class RowProducts:
    most_rows: int
    most_entries: int
    def __init__(
        self, sparse: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], penalty: NDArray[np.float64], threads: int
    ) -> None: ...
    def apply(self, u: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...

def dot(a: NDArray[np.float64], b: NDArray[np.float64], dual_size: int = 0) -> float: ...
def take_off_means(x: NDArray[np.float64]) -> None: ...
def cholesky(a: NDArray[np.float64], tolerance: float, kept: NDArray[np.uint8]) -> None: ...
def cholesky_solve(l: NDArray[np.float64], kept: NDArray[np.uint8], x: NDArray[np.float64]) -> None: ...
def eigenvalues(a: NDArray[np.float64], values: NDArray[np.float64]) -> None: ...
def solve_each(a: NDArray[np.float64], x: NDArray[np.float64]) -> None: ...
def lasso_step(
    h: NDArray[np.float64],
    g: NDArray[np.float64],
    theta: NDArray[np.float64],
    l1: NDArray[np.float64],
    free: NDArray[np.uint8],
    nonnegative: NDArray[np.uint8],
    tolerance: float,
    rounds: int,
    d: NDArray[np.float64],
) -> int: ...

class Columns:
    def __init__(
        self,
        rows: int,
        tables: list[_Array],
        sparse: tuple[_Array, _Array, _Array] | None,
        sparse_cols: int,
        codes: list[NDArray[np.signedinteger[Any]]],
        levels: list[int],
    ) -> None: ...
    entries_per_row: float
    def combination(self, factors: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...

class Binaries:
    def __init__(self, columns: Columns, center: NDArray[np.float64], threads: int) -> None: ...
    def sums(
        self,
        theta: NDArray[np.float64],
        row_order: NDArray[np.int64],
        group_starts: NDArray[np.int64],
        starts: NDArray[np.int64],
        problem: NDArray[np.int32],
        sign: NDArray[np.int8],
        weights: NDArray[np.float64] | None,
        side_weights: NDArray[np.float64] | None,
        least_curvature: NDArray[np.float64] | None,
        loss: NDArray[np.float64],
        gradient: NDArray[np.float64],
        curvature: NDArray[np.float64],
    ) -> None: ...
    def solve(
        self, curvature: NDArray[np.float64], gradient: NDArray[np.float64], step: NDArray[np.float64]
    ) -> None: ...
    def dots(
        self,
        theta: NDArray[np.float64],
        row: NDArray[np.int64],
        problem: NDArray[np.int32],
        z: NDArray[np.float64],
    ) -> None: ...

class Linear:
    size: int
    def __init__(
        self,
        columns: Columns,
        center: NDArray[np.float64],
        family: Family,
        parameter: float,
        outputs: int,
        threads: int,
    ) -> None: ...
    def sums(
        self,
        theta: NDArray[np.float64],
        labels: _Labels,
        values: NDArray[np.float64] | None,
        weights: NDArray[np.float64] | None,
        offset: NDArray[np.float64] | None,
        gradient: NDArray[np.float64] | None,
        curvature: NDArray[np.float64] | None,
        expected: bool = False,
        row_stride: int = 1,
    ) -> tuple[float, tuple[float, float]]: ...
    def predict(self, theta: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
    def gradient(self, d: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
    def squares(self, d: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
    def gradient_by_group(self, d: NDArray[np.float64], group: NDArray[np.int64], out: NDArray[np.float64]) -> None: ...
    def sandwich(self, w: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
    def quadratic(self, m: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...

class Rule:
    sgd: Rule
    momentum: Rule
    nesterov: Rule
    adagrad: Rule
    rmsprop: Rule
    adam: Rule
    adamw: Rule
    amsgrad: Rule

class LayerSpec:
    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Activation,
        leak: float,
        dropout: float,
        l1: float,
        l2: float,
        bias: bool,
    ) -> None: ...

class Network:
    parameters: int
    def __init__(
        self, layers: list[LayerSpec], family: Family, parameter: float = 0.0, custom: _CustomLoss | None = None
    ) -> None: ...

class OptimizerSpec:
    rule: Rule
    momentum: float
    beta1: float
    beta2: float
    epsilon: float
    initial_accumulator: float
    decay: float
    clip_norm: float

class Progress:
    step: int
    steps: int
    rows: int
    loss_sum: float
    penalty_sum: float
    diverged: bool

class ObjectiveF32:
    def __init__(self, network: Network, threads: int) -> None: ...
    def use_threads(self, threads: int) -> None: ...
    def set_theta(self, theta: _Array) -> None: ...
    def sums(
        self,
        x: Columns,
        labels: _Labels,
        values: _Array | None,
        weights: _Array | None,
        offset: _Array | None,
        first: int,
        rows: int,
        grad: NDArray[np.float64] | None,
    ) -> tuple[float, float]: ...
    def predict(self, x: Columns, first: int, rows: int, mean: bool, out: _Array) -> None: ...

class ObjectiveF64(ObjectiveF32): ...

class TrainerF32:
    steps: int
    arrays: int
    updates: int
    def __init__(
        self, network: Network, optimizer: OptimizerSpec, batch_rows: int, seed: int, threads: int
    ) -> None: ...
    def set_data(
        self,
        x: Columns,
        labels: _Labels,
        values: _Array | None,
        weights: _Array | None,
        offset: _Array | None,
        shuffle: bool,
        scale: float,
    ) -> None: ...
    def forget_data(self) -> None: ...
    def set_fitted(self, fitted: _Array | None) -> None: ...
    def finite(self) -> bool: ...
    def begin_epoch(self, epoch: int) -> None: ...
    def run(self, rates: NDArray[np.float64], seconds: float, threads: int) -> Progress: ...
    def read(self, array: int, out: _Array) -> None: ...
    def write(self, array: int, values: _Array) -> None: ...

class TrainerF64(TrainerF32): ...

def useful_threads(network: Network, rows: int, limit: int) -> int: ...
def set_teams_of_any_size(any: bool) -> None: ...
def first_nonfinite(x: _Array, threads: int = 1) -> tuple[int, int]: ...
def uniform(seed: int, stream: int, out: NDArray[np.float64]) -> None: ...
def permutation(seed: int, epoch: int, out: NDArray[np.uint32]) -> None: ...
def cutoffs(
    scores: _Array, positive: NDArray[np.uint8], weights: _Doubles, threads: int
) -> tuple[_Doubles, _Doubles, _Doubles]: ...
def merge_cutoffs(positives: _Array, negatives: _Array) -> tuple[_Doubles, _Doubles, _Doubles]: ...
def pairwise_wins(
    scores: _Array,
    labels: NDArray[np.int32],
    weights: _Doubles | None,
    one: int,
    wins: _Doubles,
    weight: _Doubles,
    threads: int,
) -> None: ...
def areas(tp: _Doubles, fp: _Doubles, beta: float) -> tuple[float, float, float, float, int]: ...
def count_pairs(
    actual: NDArray[np.int32], predicted: NDArray[np.int32], weights: _Doubles | None, counts: _Doubles
) -> None: ...
