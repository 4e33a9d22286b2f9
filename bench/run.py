"""Compare linnet with other libraries, side by side.

    python bench/run.py --kind linear
    python bench/run.py --workload softmax-b32 --json out.json

Networks are timed by the epoch (`networks.py`), exact linear models by the fit (`linear.py`), multilayer perceptrons by
the call that users of scikit-learn make (`estimators.py`), metrics by the report (`evaluation.py`), reductions to
binary problems by the fit and predict (`multiclass.py`). Each side lives in a process of its own and sleeps while
another one works; sides take turns, and the best time of each counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import estimators
import evaluation
import linear
import multiclass
import networks
from linear_peers import LINEAR_PEERS, LINEAR_SIDES
from linear_workloads import LINEAR_BY_NAME
from peers import PEERS, SIDES
from results import keep, run_facts
from workloads import BY_NAME

Facts = dict[str, Any]
Run = Callable[[list[str], argparse.Namespace, Facts], Facts]  # workloads, options, rounds and lengths of turns


def run_networks(names: list[str], options: argparse.Namespace, turns: Facts) -> Facts:
    """Networks, by the sides asked for."""
    sides = {"peers": list(PEERS), "linnet": ["linnet"]}.get(options.only, list(SIDES))
    return networks.run(names, [side for side in sides if not options.side or side in options.side], **turns)


def run_linear(names: list[str], options: argparse.Namespace, turns: Facts) -> Facts:
    """Linear models, by the sides asked for."""
    only = options.side or {"peers": list(LINEAR_PEERS), "linnet": ["linnet"]}.get(options.only)
    return linear.run(names, only, **turns, cap_seconds=options.cap_seconds)


def run_all(module: Any) -> Run:
    """A kind that has no sides to choose from."""
    return lambda names, options, turns: module.run(names, **turns)


# What is measured, how, and which other libraries take part.
KINDS: dict[str, tuple[list[str], Run, list[str]]] = {
    "networks": (list(BY_NAME), run_networks, ["scikit-learn", "torch", "jax", "keras"]),
    "linear": (list(LINEAR_BY_NAME), run_linear, ["scikit-learn", "glum", "statsmodels"]),
    "estimators": (estimators.ESTIMATOR_NAMES, run_all(estimators), ["scikit-learn"]),
    "evaluate": (evaluation.EVALUATION_NAMES, run_all(evaluation), ["scikit-learn"]),
    "multiclass": (multiclass.MULTICLASS_NAMES, run_all(multiclass), ["scikit-learn"]),
}


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("all", *KINDS), default="all")
    parser.add_argument("--only", choices=("all", "peers", "linnet"), default="all")
    parser.add_argument("--side", action="append", choices=list(dict.fromkeys([*SIDES, *LINEAR_SIDES])))
    known = [name for workloads, *_ in KINDS.values() for name in workloads]
    parser.add_argument("--workload", action="append", choices=known)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn-seconds", type=float, default=0.5)
    parser.add_argument("--cap-seconds", type=float, default=120.0, help="end a linear fit that takes longer")
    parser.add_argument("--json", type=Path, help="also write every time here")
    parser.add_argument("--keep", action="store_true", help="keep the tables in docs/results, for docs/benchmarks.md")
    parser.add_argument("--sgemm", action="store_true", help="only matmul rates")
    return parser.parse_args()


def main() -> None:
    """Run the benchmark."""
    options = parse()
    if options.sgemm:
        networks.print_sgemm()
        return
    turns = {"rounds": options.rounds, "turn_seconds": options.turn_seconds}
    everything: Facts = {"workloads": {}}
    for kind, (workloads, run, libraries) in KINDS.items():
        if options.kind not in ("all", kind):
            continue
        names = [name for name in workloads if not options.workload or name in options.workload]
        if not names:
            continue
        where = run_facts(libraries)
        facts = run(names, options, turns)
        everything = {**everything, **facts, "workloads": everything["workloads"] | facts["workloads"]}
        if options.keep and (options.side or options.only != "all"):
            print("not kept: not all sides ran")
        elif options.keep:
            keep(kind, where, facts["tables"])
    if options.json:
        everything.pop("tables", None)
        options.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
