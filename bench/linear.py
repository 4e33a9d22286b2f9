"""Fits of exact generalized linear models: linnet and its peers side by side, all of them at the same optimum.

Each side of a workload has a process of its own. Its first fits are checks: one common function computes the objective
of what it reports, and its tolerance is tightened tenfold until the objective is within 1e-8 of the best value that any
side found. A side that cannot get there is shown but not counted. The first fit also tells the memory that a fit needs
beyond the data. Then sides take turns; the best fit of each counts.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import pickle
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import LostError, Result, Side, clocked, show, take_turns
from linear_peers import LINEAR_PEERS, LINEAR_SIDES
from linear_workloads import LINEAR_BY_NAME, LinearWorkload

GAP = 1e-8  # of the objective, relative to the best value found
ERRORS = 1e-6  # of standard errors, relative to linnet's
TIGHTEST = 1e-12
# A side's own fits take no more than about this, so that slow sides have fewer turns.
MOST_SECONDS = 60.0


@dataclass(frozen=True)
class Check:
    """One fit of a side, looked at closely."""

    seconds: float
    cpu_seconds: float
    objective: float
    iterations: int
    extra_mb: float
    standard_errors: list[float] | None


class Worker:
    """One library, with one of its solvers, in its own process."""

    def __init__(self, name: str) -> None:
        warnings.simplefilter("ignore")
        self.peer = LINEAR_SIDES[name]()

    def setup(self, workload: str, data: Path) -> tuple[str, bool, float, float]:
        """Read and convert the data; return note, whether a tolerance can be set, seconds of conversion, input's MB."""
        self.workload = LINEAR_BY_NAME[workload]
        for module in self.peer.modules:
            importlib.import_module(module)
        with data.open("rb") as file:
            self.data = pickle.load(file)
        seconds, _, x = clocked(lambda: self.peer.prepare(self.workload, self.data))
        return self.peer.note, self.peer.adjustable, seconds, size_mb((x, self.data.y, self.data.exposure))

    def check(self, tolerance: float) -> Check:
        """Fit once and look at the objective and at the memory."""
        before = fresh_peak_mb()
        seconds, used, fitted = clocked(lambda: self.peer.fit(tolerance))
        extra = peak_mb() - before
        errors = fitted.standard_errors
        return Check(
            seconds,
            used,
            self.workload.objective(self.data, fitted.coef, fitted.intercept),
            fitted.iterations,
            extra,
            None if errors is None else errors.tolist(),
        )

    def fit(self, tolerance: float) -> tuple[float, float]:
        """Fit once and return both times."""
        return clocked(lambda: self.peer.fit(tolerance))[:2]


def size_mb(x: object) -> float:
    """The memory of the arrays in it."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    return (len(rest) + sum(buffer.raw().nbytes for buffer in buffers)) / 1e6


def peak_mb() -> float:
    """The most memory this process has had."""
    with suppress(OSError):  # getrusage would count what the parent had when it started this process
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def fresh_peak_mb() -> float:
    """The memory of this process now; on Linux the peak starts anew from here, elsewhere it stays what it was."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    return peak_mb()


@dataclass
class Solved(Result):
    """What one side did on one workload."""

    tolerance: float = 0.0
    adjustable: bool = True
    prepare_seconds: float = 0.0
    input_mb: float = 0.0
    # Of the first fit, beyond the input.
    extra_mb: float = 0.0
    objective: float = float("inf")
    gap: float = float("inf")
    iterations: int = 0
    standard_errors: list[float] | None = None
    # The largest relative difference of a standard error to linnet's.
    errors_apart: float = 0.0
    # Why the side does not count, if it does not.
    fault: str = ""


def start(workload: LinearWorkload, names: list[str], data: Path) -> tuple[dict[str, Side], dict[str, Solved]]:
    """A process for every side, with its data."""
    sides, results = {}, {}
    for name in names:
        side = Side(name, Worker)
        try:
            note, adjustable, seconds, size = side.ask("setup", workload.name, data)
        except (LostError, ImportError, RuntimeError) as error:
            print(f"{workload.name}: {name} left out: {error}", flush=True)
            side.close()
            continue
        sides[name] = side
        # A side asked for that does not usually race starts in the middle.
        tolerance = workload.sides.get(name, 1e-6)
        results[name] = Solved(note, tolerance=tolerance, adjustable=adjustable, prepare_seconds=seconds, input_mb=size)
    return sides, results


def settle(sides: dict[str, Side], results: dict[str, Solved], cap_seconds: float) -> None:
    """Tighten tolerances until every side is at the optimum or cannot get there."""
    waiting = list(sides)
    while waiting:
        for name in waiting:
            result = results[name]
            try:
                check: Check = sides[name].ask("check", result.tolerance, seconds=cap_seconds)
            except (LostError, RuntimeError) as error:
                result.fault = f"{str(error).strip().splitlines()[-1]} at a tolerance of {result.tolerance:g}"
                continue
            result.seconds, result.cpu_seconds = [check.seconds], [check.cpu_seconds]
            result.objective, result.iterations = check.objective, check.iterations
            result.standard_errors = check.standard_errors
            result.extra_mb = result.extra_mb or check.extra_mb
        compare(results)
        waiting = []
        for name, result in results.items():
            if result.fault or (result.gap <= GAP and result.errors_apart <= ERRORS):
                continue
            if result.adjustable and result.tolerance > 1.5 * TIGHTEST:
                result.tolerance = float(f"{result.tolerance / 10:.0e}")
                waiting.append(name)
            else:
                result.fault = "standard errors differ" if result.gap <= GAP else "does not reach the optimum"


def compare(results: dict[str, Solved]) -> None:
    """Compare objectives with the best one and standard errors with linnet's."""
    best = min(result.objective for result in results.values())
    ours = results["linnet"].standard_errors if "linnet" in results else None
    for result in results.values():
        result.gap = (result.objective - best) / abs(best)
        if ours is not None and result.standard_errors is not None:
            result.errors_apart = float(np.max(np.abs(np.divide(result.standard_errors, ours) - 1)))


def measure(
    workload: LinearWorkload, names: list[str], data: Path, *, rounds: int, turn_seconds: float, cap_seconds: float
) -> dict[str, Solved]:
    """Fit the workload on every side in turns."""
    sides, results = start(workload, names, data)
    settle(sides, results, cap_seconds)
    runs = {name: _run(side, results[name]) for name, side in sides.items() if not results[name].fault}
    take_turns(runs, results, rounds=rounds, turn_seconds=turn_seconds, most_seconds=MOST_SECONDS)
    for side in sides.values():
        side.close()
    return results


def _run(side: Side, result: Solved) -> Callable[[], tuple[float, float]]:
    return lambda: side.ask("fit", result.tolerance)


def lines(workload: LinearWorkload, results: dict[str, Solved]) -> list[list[str]]:
    """A line of the report for every side."""
    ours = results.get("linnet")
    out = []
    for name, result in results.items():
        if not result.seconds:
            out.append([workload.name, name, "-", "-", "-", f"{result.tolerance:g}", "-", "-", "-", result.fault])
            continue
        ratio = f"{result.best / ours.best:.2f}" if ours and ours.seconds else "-"
        notes = [result.fault.upper(), result.note]
        if result.prepare_seconds > 0.1:
            notes.append(f"conversion of {result.prepare_seconds:.2f} s not counted")
        if workload.standard_errors and result is not ours:
            notes.append(f"standard errors within {result.errors_apart:.0e}")
        out.append(
            [
                workload.name,
                name,
                f"{result.best:.3f} s",
                ratio if not result.fault else f"({ratio})",
                f"{result.gap:.0e}",
                f"{result.tolerance:g}" if result.adjustable else "-",
                str(result.iterations or "-"),
                f"{result.input_mb:.0f}",
                f"{result.extra_mb:.0f}",
                "; ".join(filter(None, notes)),
            ]
        )
    return out


def summary(workload: LinearWorkload, results: dict[str, Solved]) -> list[str]:
    """The line that says how linnet compares with the best peer."""
    ours = results.get("linnet")
    peers = {name: results[name] for name in LINEAR_PEERS if name in results and not results[name].fault}
    best = min(peers, key=lambda name: peers[name].best, default="-")
    mine = "-" if ours is None or not ours.seconds else f"{ours.best:.3f} s"
    if ours is None or ours.fault or not peers:
        told = [mine, best, "-", "-", f"{workload.target_ratio:g}", ours.fault if ours else ""]
    else:
        peer = peers[best]
        memory = f"{ours.extra_mb:.0f} / {peer.extra_mb:.0f} MB"
        told = [mine, best, f"{peer.best:.3f} s", f"{peer.best / ours.best:.2f}", f"{workload.target_ratio:g}", memory]
    return [workload.name, workload.title, *told]


def run(
    workloads: list[str], names: list[str] | None, *, rounds: int, turn_seconds: float, cap_seconds: float
) -> dict[str, Any]:
    """Race sides (those named, or those of the workload) on the named workloads; print and return what was measured."""
    details, summaries = [], []
    facts = {}
    for workload in [LINEAR_BY_NAME[name] for name in workloads]:
        chosen = [name for name in workload.sides if names is None or name in names]
        if names is None:
            for name, reason in workload.left_out.items():
                print(f"{workload.name}: {name} left out: {reason}")
        else:
            chosen += [name for name in workload.left_out if name in names]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data"
            try:
                data = workload.data()
            except (FileNotFoundError, ImportError) as error:
                print(f"{workload.name} left out: {error}")
                continue
            with path.open("wb") as file:
                pickle.dump(data, file, protocol=5)
            del data
            results = measure(workload, chosen, path, rounds=rounds, turn_seconds=turn_seconds, cap_seconds=cap_seconds)
        details += lines(workload, results)
        summaries.append(summary(workload, results))
        facts[workload.name] = {name: vars(r) if r.seconds else {"fault": r.fault} for name, r in results.items()}
        print(f"{workload.name} done (load {os.getloadavg()[0]:.1f})", flush=True)
    columns = ["time", "time / linnet's", "gap", "tolerance", "iterations", "input MB", "extra MB", "note"]
    tables = {
        "linear": (["workload", "", "linnet", "best peer", "its time", "ratio", "target", "extra memory"], summaries),
        "linear-sides": (["workload", "side", *columns], details),
    }
    if details:
        for header, rows in reversed(tables.values()):
            show(header, rows)
        print("Best fit. Gap: of the objective, relative to the best value that any side found.")
    return {"workloads": facts, "tables": tables}
