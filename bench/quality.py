"""How well models predict with default settings: loss and time of five-fold cross-validation on real tables.

    python bench/quality.py
    python bench/quality.py --table abalone --side linnet --side lightgbm --folds 2
    python bench/quality.py --side sklearn-mlp --json mlp.json
    python bench/quality.py --show all.json mlp.json

Loss is log loss for classes and the root mean squared error for numbers, both on rows that were not trained on. Every
side lives in a process of its own and sleeps while another one works; all take turns on each fold. linnet and LightGBM
get the data frame as it is, LightGBM with one thread or all, whichever is faster. The others cannot read one: they get
standardised numbers with medians in the gaps and a column that says where, categories as columns of 0 and 1, and for
regression a standardised target. Larger tables are cut to MAX_ROWS of their rows, chosen at random.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import Side, clocked, show
from quality_tables import BY_NAME, MAX_ROWS, TABLES
from quality_tables import Table as DataTable
from results import Table, Tables, keep, run_facts, when

SIDES = ("linnet", "lightgbm", "linear", "sklearn-mlp", "keras")
HIDDEN, DROPOUT = (128, 128), 0.1  # the preset's, for Keras
THREADS = {"lightgbm": [None, 1]}
Run = tuple[float, float, float]  # loss, seconds, seconds of all threads
Results = dict[str, dict[str, list[Run]]]  # table -> side -> one a fold


@lru_cache
def loaded(name: str) -> tuple[Any, Any, list[Any]]:
    """A table, its target and its folds."""
    from sklearn.model_selection import KFold, StratifiedKFold

    table = BY_NAME[name]
    x, y = table.load()
    x.columns = [f"column {index}" for index in range(x.shape[1])]  # LightGBM takes no brackets or commas
    kind = StratifiedKFold if table.classes else KFold
    return x, y, list(kind(5, shuffle=True, random_state=0).split(x, y))


class Worker:
    """One side, in its own process."""

    def __init__(self, side: str) -> None:
        warnings.simplefilter("ignore")
        self.side = side

    def run(self, name: str, fold: int) -> Run:
        """Fit on a fold's training rows and predict the others: loss, seconds, seconds of all threads.

        LightGBM does so with all threads and with one, and the faster counts: on busy cores its threads wait.
        """
        return min(
            (self._run(name, fold, threads) for threads in THREADS.get(self.side, [None])), key=lambda run: run[1]
        )

    def _run(self, name: str, fold: int, threads: int | None) -> Run:
        x, y, folds = loaded(name)
        train, test = folds[fold]
        classes = BY_NAME[name].classes
        model = make(self.side, BY_NAME[name], x, threads)

        def work() -> Any:
            model.fit(x.iloc[train], y[train])
            return model.predict_proba(x.iloc[test]) if classes else model.predict(x.iloc[test])

        seconds, cpu, predicted = clocked(work)
        return loss_of(np.asarray(predicted), y[test], classes), seconds, cpu


def loss_of(predicted: Any, y: Any, classes: bool) -> float:
    """Mean log loss, or the root of the mean squared error."""
    if classes:
        p = np.clip(predicted[np.arange(len(y)), y], 1e-15, 1)
        return float(-np.log(p).mean())
    return float(np.sqrt(np.square(predicted - y).mean()))


def make(side: str, table: DataTable, x: Any, threads: int | None = None) -> Any:
    """A model of a side with its defaults."""
    if side == "linnet":
        import linnet

        kind = linnet.MLPClassifier if table.classes else linnet.MLPRegressor
        return kind(preset="tabular", random_state=0)
    if side == "lightgbm":
        import lightgbm

        kind = lightgbm.LGBMClassifier if table.classes else lightgbm.LGBMRegressor
        return kind(random_state=0, verbose=-1, n_jobs=threads)
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    if side == "linear":
        return prepared(LogisticRegression(max_iter=1000) if table.classes else Ridge(), table, x)
    if side == "sklearn-mlp":
        return prepared((MLPClassifier if table.classes else MLPRegressor)(random_state=0), table, x)
    return prepared(KerasModel(table.classes), table, x)


def prepared(model: Any, table: DataTable, x: Any) -> Any:
    """The model behind the usual preparation."""
    from sklearn.compose import TransformedTargetRegressor, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    levels = list(x.select_dtypes("category").columns)
    numbers = [name for name in x.columns if name not in levels]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels),
    )
    pipeline = make_pipeline(columns, model)
    return pipeline if table.classes else TransformedTargetRegressor(pipeline, transformer=StandardScaler())


class KerasModel:
    """Keras with the preset's layers, Adam and early stopping on a tenth of the rows."""

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"classes": self.classes}

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def fit(self, x: Any, y: Any) -> KerasModel:
        os.environ.setdefault("KERAS_BACKEND", "jax")
        import keras

        keras.utils.set_random_seed(0)
        layers: list[Any] = []
        for units in HIDDEN:
            layers += [keras.layers.Dense(units, "silu" if self.classes else "gelu"), keras.layers.Dropout(DROPOUT)]
        top = keras.layers.Dense(int(y.max()) + 1, "softmax") if self.classes else keras.layers.Dense(1)
        self.model = keras.Sequential([*layers, top])
        self.model.compile("adam", "sparse_categorical_crossentropy" if self.classes else "mse")
        stop = keras.callbacks.EarlyStopping(patience=10, restore_best_weights=True)
        order = np.random.default_rng(0).permutation(len(x))
        x, y = np.asarray(x, np.float32)[order], np.asarray(y)[order]
        self.model.fit(x, y, batch_size=128, epochs=100, validation_split=0.1, callbacks=[stop], verbose=0)
        return self

    def predict(self, x: Any) -> Any:
        return self.model.predict(np.asarray(x, np.float32), batch_size=1024, verbose=0)[:, 0]

    def predict_proba(self, x: Any) -> Any:
        return self.model.predict(np.asarray(x, np.float32), batch_size=1024, verbose=0)


def measure(tables: list[DataTable], sides: list[str], folds: int, file: Path | None) -> Results:
    """Run all sides in turns, all tables before the next fold, writing what is known after every table.

    What the file has from a run that was cut short is not run again.
    """
    workers = [Side(name, Worker) for name in sides]
    known = json.loads(file.read_text()) if file and file.exists() else {}
    results: Results = {t.name: {side: known.get(t.name, {}).get(side, []) for side in sides} for t in tables}
    for fold, table in itertools.product(range(folds), tables):
        found = results[table.name]
        missing = [worker for worker in workers if len(found[worker.name]) <= fold]
        for worker in missing:
            try:
                found[worker.name].append(worker.ask("run", table.name, fold))
            except ImportError as error:
                print(f"{worker.name} left out: {error}")
                workers.remove(worker)
        if not missing:
            continue
        told = ", ".join(f"{side} {runs[-1][0]:.4g} ({runs[-1][1]:.2f} s)" for side, runs in found.items() if runs)
        print(f"fold {fold + 1}, {table.name}: {told}", flush=True)
        if file:
            file.write_text(json.dumps(results) + "\n")
    for worker in workers:
        worker.close()
    return results


def mean(runs: Any, index: int) -> float:
    """Mean over folds of the loss (0), the seconds (1) or the seconds of all threads (2)."""
    return float(np.mean([run[index] for run in runs]))


def report(results: Results) -> Tables:
    """Print losses and seconds table by table, then how the sides compare on all and on tables never chosen on."""
    sides = [side for side in SIDES if any(found.get(side) for found in results.values())]
    folds = {name: min(len(found.get(side, ())) for side in sides) for name, found in results.items()}
    results = {  # what all sides have done
        name: {side: runs[: folds[name]] for side, runs in found.items()}
        for name, found in results.items()
        if folds[name]
    }
    counts = sorted({folds[name] for name in results})
    rows = [
        [name, "classes" if BY_NAME[name].classes else "numbers", "chosen on" if BY_NAME[name].chosen_on else "new"]
        + [f"{mean(found[side], 0):.4g} ({mean(found[side], 1):.2f} s)" for side in sides]
        + [min(sides, key=lambda side: mean(found[side], 0))]
        for name, found in results.items()
    ]
    print("\nMean log loss or root mean squared error (mean seconds) of a fold")
    print(f"{' or '.join(map(str, counts))} of 5 folds; at most {MAX_ROWS:,} rows a table")
    tables: Tables = {"quality-tables": (["table", "kind", "settings", *sides, "best"], rows)}
    show(*tables["quality-tables"])
    for key, title, chosen in (
        ("quality", "all tables", (True, False)),
        ("quality-new", "tables the settings were not chosen on", (False,)),
    ):
        names = [name for name in results if BY_NAME[name].chosen_on in chosen]
        if names:
            print(f"\n{len(names)} tables: {title}")
            tables[key] = summary({name: results[name] for name in names}, sides)
            show(*tables[key])
    return tables


def summary(results: Results, sides: list[str]) -> Table:
    """Mean ranks, relative losses and times."""
    names = list(results)
    losses = np.array([[mean(results[name][side], 0) for side in sides] for name in names])
    times = np.array([[mean(results[name][side], 1) for side in sides] for name in names])
    cpu = np.array([[mean(results[name][side], 2) for side in sides] for name in names])
    ranks = (losses[:, :, None] > losses[:, None, :]).sum(axis=2) + 1
    against = sides.index("lightgbm") if "lightgbm" in sides else 0
    rows = []
    for index, side in enumerate(sides):
        ratio, slower = losses[:, index] / losses[:, against], times[:, index] / times[:, against]
        work = cpu[:, index] / cpu[:, against]
        worst = int(ratio.argmax())
        rows.append(
            [
                side,
                f"{ranks[:, index].mean():.2f}",
                f"{int((ratio < 1).sum())} of {len(names)}",
                f"{np.exp(np.log(ratio).mean()):.3f} ({np.median(ratio):.3f})",
                f"{names[worst]} {ratio[worst]:.2f}",
                f"{times[:, index].sum():.1f} s",
                f"{times[:, index].sum() / times[:, against].sum():.1f}",
                f"{np.exp(np.log(slower).mean()):.1f}",
                f"{np.exp(np.log(work).mean()):.1f}",
            ]
        )
    to = sides[against]
    columns = [
        "side",
        "mean rank",
        f"better than {to}",
        f"loss / {to}'s: mean (median)",
        "worst table",
        "time of one fold, summed",
    ]
    return [*columns, f"/ {to}'s", "on a typical table", "on a typical table, all threads"], rows


def main() -> None:
    """Measure, or show what was measured before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="append", choices=list(BY_NAME))
    parser.add_argument("--side", action="append", choices=SIDES)
    parser.add_argument("--folds", type=int, default=5, choices=range(1, 6))
    parser.add_argument("--json", type=Path, help="write every loss and time here, and go on from there")
    parser.add_argument("--show", type=Path, nargs="+", help="print the tables of such files instead of measuring")
    parser.add_argument("--keep", action="store_true", help="keep the tables in docs/results, for docs/benchmarks.md")
    options = parser.parse_args()
    where = run_facts(["scikit-learn", "lightgbm", "keras", "jax"])
    if options.show:
        files = [json.loads(path.read_text()) for path in options.show]
        names = [name for name in files[0] if all(name in file for file in files)]
        found = report({name: {side: runs for file in files for side, runs in file[name].items()} for name in names})
        newest = max(path.stat().st_mtime for path in options.show)  # how busy the machine was then is not known
        del where["load"]
        where["date"] = when(newest)
    else:
        tables = [table for table in TABLES if not options.table or table.name in options.table]
        found = report(measure(tables, options.side or list(SIDES), options.folds, options.json))
    if options.keep:
        keep("quality", where, found)


if __name__ == "__main__":
    main()
