"""Epochs of training networks: linnet and its peers side by side.

Two epochs of each side come first and are not timed: they compile, warm up and give
the losses that must agree. Then sides take turns; the best epoch of each counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness import LostError, Result, Side, clocked, show, take_turns
from peers import CHECKED_EPOCHS, PEERS, SIDES
from workloads import BY_NAME, WORKLOADS, Workload, row_order, sgemm_rate

SLOW = ("sklearn", "torch", "keras")
TOLERANCE = 1e-2
TURN_EPOCHS = 2  # at least


class Worker:
    """One library in its own process."""

    def __init__(self, name: str) -> None:
        self.peer = SIDES[name]()

    def setup(self, workload: str) -> tuple[str, float, bool]:
        """Build the model; return the side's note, seconds of compilation, and whether its loss is comparable."""
        self.workload = BY_NAME[workload]
        self.peer.setup(self.workload)
        return self.peer.note, self.peer.compile_seconds, self.peer.comparable

    def epoch(self, number: int, rows: int) -> tuple[float, float, float]:
        """Train over the first rows of the epoch's order; return both times and the loss."""
        order = row_order(self.workload, number)[:rows]
        return clocked(lambda: self.peer.epoch(order))

    def sgemm(self) -> dict[str, float]:
        """Rates of the machine's matrix products."""
        return sgemm_rate()


@dataclass
class Trained(Result):
    """What one side did on one network."""

    compile_seconds: float = 0.0
    comparable: bool = True
    # Rows per timed epoch; times are already scaled to the whole epoch.
    rows: int = 0
    losses: list[float] = field(default_factory=list)


def measure(workload: Workload, sides: list[Side], rounds: int, turn_seconds: float) -> dict[str, Trained]:
    """Train the workload on every side in turns."""
    results: dict[str, Trained] = {}
    runs: dict[str, Callable[[], tuple[float, float]]] = {}
    for side in sides:
        try:
            note, compile_seconds, comparable = side.ask("setup", workload.name)
            result = Trained(note, compile_seconds=compile_seconds, comparable=comparable, rows=workload.rows)
            for epoch in range(CHECKED_EPOCHS):
                result.losses.append(side.ask("epoch", epoch, workload.rows)[-1])
            if side.name in SLOW and workload.slow_rows:
                result.rows = workload.slow_rows
                # A partial epoch may have a shape not seen before: warm it up.
                side.ask("epoch", CHECKED_EPOCHS, result.rows)
        except (LostError, ImportError, RuntimeError) as error:
            print(f"{workload.name}: {side.name} left out: {error}")
            continue
        results[side.name] = result
        runs[side.name] = _run(side, workload, result)
    take_turns(runs, results, rounds=rounds, turn_seconds=turn_seconds, fewest=TURN_EPOCHS)
    return results


def _run(side: Side, workload: Workload, result: Trained) -> Callable[[], tuple[float, float]]:
    """One timed epoch of a side, scaled to all rows."""

    def run() -> tuple[float, float]:
        seconds, used, _ = side.ask("epoch", CHECKED_EPOCHS + len(result.seconds), result.rows)
        scale = workload.rows / result.rows
        return seconds * scale, used * scale

    return run


def verdict(results: dict[str, Trained]) -> str:
    """Whether the losses after the checked epochs agree, with both extremes."""
    losses = [r.losses[-1] for r in results.values() if r.comparable]
    if len(losses) < 2:
        return "-"
    low, high = min(losses), max(losses)
    if "linnet" in results:
        low = results["linnet"].losses[-1]
        high = max(losses, key=lambda loss: abs(loss - low))
    agree = abs(high - low) <= TOLERANCE * abs(high)
    return f"{'ok' if agree else 'DIFFER'} {low:.4f} {high:.4f}"


def cell(result: Trained | None, workload: Workload) -> str:
    """Time per epoch and per step; a star marks a scaled partial epoch."""
    if result is None:
        return "-"
    star = "*" if result.rows < workload.rows else ""
    step = result.best / workload.steps * 1e6
    return f"{short(result.best * 1e3)} ms{star} ({short(step)} us)"


def short(number: float) -> str:
    """A number with three digits or more."""
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 100 else f"{number:,.0f}"


def row(workload: Workload, results: dict[str, Trained], names: list[str]) -> list[str]:
    """One line of the report."""
    cells = [workload.name, workload.title, *(cell(results.get(name), workload) for name in names)]
    jax = results.get("jax")
    cells.append(f"{jax.compile_seconds:.2f} s" if jax else "-")
    peers = {name: results[name].best for name in PEERS if name in results}
    best = min(peers, key=lambda name: peers[name], default="-")
    ratio = "-"
    if peers and "linnet" in results:
        ratio = f"{peers[best] / results['linnet'].best:.2f}"
    return [*cells, best, ratio, f"{workload.target_ratio:g}", verdict(results)]


def machine_share(record: dict[str, dict[str, Trained]], rates: dict[str, float]) -> str:
    """How much of the machine's own matrix product rate the largest network trains at."""
    largest = WORKLOADS[-1]
    if "linnet" not in record.get(largest.name, {}):
        return ""
    shapes = list(zip(largest.layers, largest.layers[1:], strict=False))
    # forward, weight gradient and delta; the first layer has no delta
    products = 3 * sum(a * b for a, b in shapes) - largest.layers[0] * largest.layers[1]
    rate = 2e-9 * products * largest.rows / record[largest.name]["linnet"].best
    name, sgemm = max(((n, r) for n, r in rates.items() if "2 thread" in n), key=lambda pair: pair[1])
    return (
        f"{largest.name}: linnet trains at {rate:.0f} GFLOP/s, Adam included: {rate / sgemm:.0%} of the fastest matrix "
        f"product on this machine ({sgemm:.0f} GFLOP/s, {name})"
    )


def print_sgemm() -> None:
    """Only the rates of matrix products."""
    side = Side("torch", Worker)
    for name, rate in side.ask("sgemm").items():
        print(f"{name:40s} {rate:7.1f} GFLOP/s")
    side.close()


def run(workloads: list[str], names: list[str], *, rounds: int, turn_seconds: float) -> dict[str, Any]:
    """Race the named sides on the named workloads, print the table and return everything measured."""
    sides = [Side(name, Worker) for name in names]
    rows: list[list[str]] = []
    record: dict[str, dict[str, Trained]] = {}
    for workload in [BY_NAME[name] for name in workloads]:
        results = measure(workload, sides, rounds, turn_seconds)
        rows.append(row(workload, results, names))
        record[workload.name] = results
        notes = [f"{name}: {r.note}" for name, r in results.items() if r.note]
        load = os.getloadavg()[0]
        print(f"{workload.name} done (load {load:.1f}); {'; '.join(notes)}", flush=True)
    trained = {name for results in record.values() for name in results}
    rates = next((side.ask("sgemm") for side in sides if side.name == "torch" and side.name in trained), None)
    for side in sides:
        side.close()
    header = ["workload", "", *names, "jax compile", "best peer", "ratio", "target", f"loss after {CHECKED_EPOCHS}"]
    show(header, rows)
    print("Best epoch (per update). * timed on fewer rows and scaled up.")
    if rates and (share := machine_share(record, rates)):
        print(share)
    facts = {w: {name: vars(r) for name, r in results.items()} for w, results in record.items()}
    return {"workloads": facts, "sgemm": rates, "tables": {"networks": (header, rows)}}
