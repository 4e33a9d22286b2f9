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
from workloads import BY_NAME


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = ("all", "networks", "linear", "estimators", "evaluate", "multiclass")
    parser.add_argument("--kind", choices=kinds, default="all")
    parser.add_argument("--only", choices=("all", "peers", "linnet"), default="all")
    parser.add_argument("--side", action="append", choices=list(dict.fromkeys([*SIDES, *LINEAR_SIDES])))
    known = [*BY_NAME, *LINEAR_BY_NAME, *estimators.ESTIMATOR_NAMES, *evaluation.EVALUATION_NAMES]
    known += multiclass.MULTICLASS_NAMES
    parser.add_argument("--workload", action="append", choices=known)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn-seconds", type=float, default=0.5)
    parser.add_argument("--cap-seconds", type=float, default=120.0, help="end a linear fit that takes longer")
    parser.add_argument("--json", type=Path, help="also write every time here")
    parser.add_argument("--sgemm", action="store_true", help="only matmul rates")
    return parser.parse_args()


def chosen(options: argparse.Namespace, kind: str, workloads: list[str]) -> list[str]:
    """The workloads of a kind to run."""
    if options.kind not in ("all", kind):
        return []
    return [name for name in workloads if not options.workload or name in options.workload]


def main() -> None:
    """Run the benchmark."""
    options = parse()
    if options.sgemm:
        networks.print_sgemm()
        return
    turns = {"rounds": options.rounds, "turn_seconds": options.turn_seconds}
    facts: dict[str, Any] = {"workloads": {}}
    if names := chosen(options, "networks", list(BY_NAME)):
        sides = {"peers": list(PEERS), "linnet": ["linnet"]}.get(options.only, list(SIDES))
        sides = [side for side in sides if not options.side or side in options.side]
        facts = networks.run(names, sides, **turns)
    if names := chosen(options, "linear", list(LINEAR_BY_NAME)):
        only = options.side or {"peers": list(LINEAR_PEERS), "linnet": ["linnet"]}.get(options.only)
        more = linear.run(names, only, **turns, cap_seconds=options.cap_seconds)
        facts["workloads"] |= more["workloads"]
    if names := chosen(options, "estimators", estimators.ESTIMATOR_NAMES):
        facts["workloads"] |= estimators.run(names, **turns)["workloads"]
    if names := chosen(options, "evaluate", evaluation.EVALUATION_NAMES):
        facts["workloads"] |= evaluation.run(names, **turns)["workloads"]
    if names := chosen(options, "multiclass", multiclass.MULTICLASS_NAMES):
        facts["workloads"] |= multiclass.run(names, **turns)["workloads"]
    if options.json:
        options.json.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
