"""Time an epoch of every workload for linnet and its peers, side by side.

    python bench/run.py --only peers
    python bench/run.py --workload softmax-b32 --json out.json

Each side lives in its own process and sleeps while another one works. Two epochs
of each side come first and are not timed: they compile, warm up and give the
losses that must agree. Then sides take turns; the best epoch of each counts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from peers import CHECKED_EPOCHS, PEERS, SIDES
from workloads import BY_NAME, WORKLOADS, Workload, row_order, sgemm_rate

SLOW = ("sklearn", "torch", "keras")
TOLERANCE = 1e-2
# Thread pools spin for a while after their last task; let them fall asleep.
PAUSE_SECONDS = 0.25
TURN_EPOCHS = 2  # at least


def serve(name: str, pipe: Connection) -> None:
    """Answer requests in a side's own process until the pipe closes."""
    side = SIDES[name]()
    workload = WORKLOADS[0]
    while True:
        try:
            command, argument = pipe.recv()
        except EOFError:
            return
        try:
            if command == "setup":
                workload = BY_NAME[argument]
                side.setup(workload)
                pipe.send((side.note, side.compile_seconds, side.comparable))
            elif command == "epoch":
                epoch, rows = argument
                order = row_order(workload, epoch)[:rows]
                start, used = time.perf_counter(), time.process_time()
                loss = side.epoch(order)
                pipe.send((time.perf_counter() - start, time.process_time() - used, loss))
            else:
                pipe.send(sgemm_rate())
        except Exception as error:  # one broken side must not end the run
            pipe.send(error if isinstance(error, ImportError) else _told(error))


def _told(error: Exception) -> RuntimeError:
    """An exception that survives pickling and keeps the traceback."""
    return RuntimeError("".join(traceback.format_exception(error)))


class Side:
    """The parent's handle on one process."""

    def __init__(self, name: str) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(name, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, command: str, argument: Any = None) -> Any:
        """Send a request, wait for the answer and raise what the side raised."""
        self.pipe.send((command, argument))
        answer = self.pipe.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the process."""
        self.pipe.close()
        self.process.join()


@dataclass
class Result:
    """What one side did on one workload."""

    note: str = ""
    compile_seconds: float = 0.0
    comparable: bool = True
    # Rows per timed epoch; times below are already scaled to the whole epoch.
    rows: int = 0
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    # Over all threads; on a busy machine it says more than the time on the clock.
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds of the fastest epoch."""
        return min(self.seconds)


def measure(workload: Workload, sides: list[Side], rounds: int, turn_seconds: float) -> dict[str, Result]:
    """Train the workload on every side in turns."""
    results: dict[str, Result] = {}
    for side in sides:
        try:
            note, compile_seconds, comparable = side.ask("setup", workload.name)
            result = Result(note, compile_seconds, comparable, workload.rows)
            for epoch in range(CHECKED_EPOCHS):
                result.losses.append(side.ask("epoch", (epoch, workload.rows))[-1])
        except (EOFError, ImportError, RuntimeError) as error:
            print(f"{workload.name}: {side.name} left out: {error}")
            continue
        if side.name in SLOW and workload.slow_rows:
            result.rows = workload.slow_rows
        results[side.name] = result
    epoch = CHECKED_EPOCHS
    for _ in range(rounds):
        for side in sides:
            if side.name not in results:
                continue
            result = results[side.name]
            time.sleep(PAUSE_SECONDS)
            # A partial epoch may have a shape not seen before: warm it up.
            if result.rows < workload.rows and not result.seconds:
                side.ask("epoch", (epoch, result.rows))
            end = time.perf_counter() + turn_seconds
            for turn in itertools.count(1):
                seconds, used, _ = side.ask("epoch", (epoch, result.rows))
                scale = workload.rows / result.rows
                result.seconds.append(seconds * scale)
                result.cpu_seconds.append(used * scale)
                epoch += 1
                if turn >= TURN_EPOCHS and time.perf_counter() >= end:
                    break
    return results


def verdict(results: dict[str, Result]) -> str:
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


def cell(result: Result | None, workload: Workload) -> str:
    """Time per epoch and per step; a star marks a scaled partial epoch."""
    if result is None:
        return "-"
    star = "*" if result.rows < workload.rows else ""
    step = result.best / workload.steps * 1e6
    return f"{result.best * 1e3:.2f} ms{star} ({step:.1f} us)"


def row(workload: Workload, results: dict[str, Result], names: list[str]) -> list[str]:
    """One line of the report."""
    cells = [workload.name, *(cell(results.get(name), workload) for name in names)]
    jax = results.get("jax")
    cells.append(f"{jax.compile_seconds:.2f} s" if jax else "-")
    peers = {name: results[name].best for name in PEERS if name in results}
    best = min(peers, key=lambda name: peers[name], default="-")
    ratio = "-"
    if peers and "linnet" in results:
        ratio = f"{peers[best] / results['linnet'].best:.2f}"
    return [*cells, best, ratio, f"{workload.target_ratio:g}", verdict(results)]


def show(header: list[str], rows: list[list[str]]) -> None:
    """Print a table, with rich where it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        columns = list(zip(header, *rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        for line in [header, *rows]:
            print("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)))
        return
    table = Table(*header)
    for line in rows:
        table.add_row(*line)
    console = Console()
    # A report piped to a file has no terminal width to respect.
    (console if console.is_terminal else Console(width=220)).print(table)


def machine_share(record: dict[str, dict[str, Result]], rates: dict[str, float]) -> str:
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


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("all", "peers", "linnet"), default="all")
    parser.add_argument("--side", action="append", choices=list(SIDES))
    parser.add_argument("--workload", action="append", choices=list(BY_NAME))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn-seconds", type=float, default=0.5)
    parser.add_argument("--json", type=Path, help="also write every time here")
    parser.add_argument("--sgemm", action="store_true", help="only matmul rates")
    return parser.parse_args()


def main() -> None:
    """Run the benchmark."""
    options = parse()
    if options.sgemm:
        side = Side("torch")
        for name, rate in side.ask("sgemm").items():
            print(f"{name:40s} {rate:7.1f} GFLOP/s")
        side.close()
        return
    names = {"peers": list(PEERS), "linnet": ["linnet"]}.get(options.only, list(SIDES))
    names = options.side or names
    sides = [Side(name) for name in names]
    rows: list[list[str]] = []
    record: dict[str, dict[str, Result]] = {}
    for workload in [BY_NAME[name] for name in options.workload or BY_NAME]:
        results = measure(workload, sides, options.rounds, options.turn_seconds)
        rows.append(row(workload, results, names))
        record[workload.name] = results
        notes = [f"{name}: {r.note}" for name, r in results.items() if r.note]
        load = os.getloadavg()[0]
        print(f"{workload.name} done (load {load:.1f}); {'; '.join(notes)}", flush=True)
    rates = next((side.ask("sgemm") for side in sides if side.name == "torch"), None)
    for side in sides:
        side.close()
    header = ["workload", *names, "jax compile", "best peer", "ratio", "target"]
    show([*header, f"loss after {CHECKED_EPOCHS}"], rows)
    print("Best epoch (per update). * timed on fewer rows and scaled up.")
    if rates:
        print(machine_share(record, rates))
    if options.json:
        facts = {w: {name: vars(r) for name, r in results.items()} for w, results in record.items()}
        options.json.write_text(json.dumps({"workloads": facts, "sgemm": rates}, indent=1) + "\n")


if __name__ == "__main__":
    main()
