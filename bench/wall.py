"""Whole wall time of a lecture program, import included: Keras against linnet.

    python bench/wall.py

Each program runs in a fresh interpreter on 5,000 training and 1,000 test digits.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import show
from results import keep, run_facts
from workloads import digits

IMPORTS = {
    "keras": (
        "from keras import Sequential\nfrom keras.layers import Dense, Dropout\nfrom keras.optimizers import SGD"
    ),
    "linnet": "from linnet import Sequential, Dense, Dropout, SGD",
}
# Keras 3 no longer knows the short name.
RATE = {"keras": "learning_rate", "linnet": "lr"}
PROGRAM = """
import numpy as np
{imports}
x_train, y_train = np.load("x_train.npy"), np.load("y_train.npy")
x_test, y_test = np.load("x_test.npy"), np.load("y_test.npy")
model = Sequential()
model.add(Dense(10, input_dim=784, activation='relu'))
model.add(Dense(10, activation='softmax'))
model.compile(optimizer=SGD({rate}=0.1), loss='categorical_crossentropy',
              metrics=['categorical_accuracy'])
traj = model.fit(x_train, y_train, epochs={epochs}, batch_size=32,
                 validation_data=(x_test, y_test), shuffle=True, verbose=0)
print(traj.history['loss'][-1], traj.history['val_categorical_accuracy'][-1])
"""


def save_data(folder: Path) -> None:
    """Write the arrays the program loads."""
    for part, rows in (("train", 5000), ("test", 1000)):
        x, y = digits(rows, test=part == "test")
        np.save(folder / f"x_{part}.npy", x)
        np.save(folder / f"y_{part}.npy", np.eye(10, dtype=np.float32)[y])


def wall_time(side: str, folder: Path, epochs: int) -> tuple[float, str]:
    """Seconds from start to exit of the program, and its last line."""
    program = PROGRAM.format(imports=IMPORTS[side], rate=RATE[side], epochs=epochs)
    command = [sys.executable, "-W", "ignore", "-c", program]
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    start = time.perf_counter()
    done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{side} failed: {done.stderr.strip().splitlines()[-1]}")
    return seconds, done.stdout.strip()


def main() -> None:
    """Time both programs in turns and print the ratio of their best times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=tuple(IMPORTS))
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="keep the table in docs/results, for docs/benchmarks.md")
    options = parser.parse_args()
    where = run_facts(["keras", "jax"])
    sides = [options.only] if options.only else list(IMPORTS)
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        save_data(Path(name))
        for _ in range(options.rounds):
            for side in list(sides):
                try:
                    seconds, said = wall_time(side, Path(name), options.epochs)
                except RuntimeError as error:
                    print(error)
                    sides.remove(side)
                    continue
                best[side] = min(seconds, best.get(side, np.inf))
                print(f"{side:7s} {seconds:8.3f} s  loss, accuracy: {said}", flush=True)
    if len(best) == len(IMPORTS):
        title = f"784-10-10, 5,000 digits, {options.epochs} epochs with validation"
        row = ["program", title, *(f"{best[side]:.2f} s" for side in IMPORTS), f"{best['keras'] / best['linnet']:.1f}"]
        table = ["workload", "", *IMPORTS, "ratio"], [row]
        show(*table)
        if options.keep:
            keep("wall", where, {"wall": table})


if __name__ == "__main__":
    main()
