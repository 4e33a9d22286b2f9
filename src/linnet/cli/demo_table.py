"""The other half of `linnet demo`: `linnet.train` on a table of patients, from the columns as they are to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from linnet.tables.model import TableModel

_TARGET = "progression after a year"
_NAMES = {  # by scikit-learn's
    "age": "age",
    "sex": "sex",
    "bmi": "body mass index",
    "bp": "blood pressure",
    "s1": "total cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol per HDL",
    "s5": "log triglycerides",
    "s6": "blood sugar",
}


def train_on_patients(seed: int) -> "TableModel":
    """Predict how far diabetes has progressed a year on, from measurements at the start (Efron et al. 2004)."""
    from sklearn.datasets import load_diabetes

    import linnet

    found = load_diabetes(scaled=False)
    columns: dict[str, Any] = {
        _NAMES[name]: found.data[:, place].tolist() for place, name in enumerate(found.feature_names)
    }
    columns["sex"] = [f"sex {code:.0f}" for code in columns["sex"]]  # the source does not say which is which
    return linnet.train({**columns, _TARGET: found.target.tolist()}, _TARGET, seed=seed)


def table_of(model: "TableModel", live: bool) -> "Table":
    """The candidates and how well they predict the patients held out."""
    from rich import box
    from rich.table import Table

    title = f"Diabetes patients: {model.facts['rows']:,} to train on, {model.facts['held_out']:,} held out"
    table = Table(title=title, title_justify="left", box=box.ROUNDED if live else box.SIMPLE_HEAD)
    table.add_column("Model", style="bold", no_wrap=True)
    for header in ("Seconds", "Test RMSE", "R²"):
        table.add_column(header, justify="right", no_wrap=True)
    for one in model.tried:
        numbers = (f"{one.scores['rmse']:.1f}", f"{one.scores['r2']:.3f}")
        what = one.what[0].upper() + one.what[1:] + (" (kept)" if one.chosen else "")
        table.add_row(what, f"{one.seconds or 0:.2f}", *numbers, style="green" if one.chosen else None)
    return table


def facts_of_table(model: "TableModel", report: Path) -> dict[str, Any]:
    """Return the candidates and their scores as values of JSON."""
    return {
        "target": _TARGET,
        "task": model.task,
        "train_rows": model.facts["rows"],
        "test_rows": model.facts["held_out"],
        "metric": model.metric,
        "models": [{"model": one.name, "chosen": one.chosen, **one.scores} for one in model.tried],
        "report": str(report),
    }
