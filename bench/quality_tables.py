"""The tables that quality is measured on: real ones, small and medium, with no column that leaks the target.

Both kinds are in alphabetical order; the preset's settings were chosen on every other table (`chosen_on`), not on
those between.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("LINNET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
MAX_ROWS = 10_000


@dataclass(frozen=True)
class Table:
    """Where a table lies and what is asked of it."""

    name: str
    target: str
    drop: tuple[str, ...] = ()  # what identifies rows, or is known only after the target
    file: str = ""
    classes: bool = True

    def load(self) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
        """The columns and the target, shuffled, of MAX_ROWS rows at most; text is categories."""
        frame = pd.read_csv(DATA / self.name / (self.file or f"{self.name}.csv.gz"))
        frame = frame.dropna(subset=[self.target])
        order = np.random.default_rng(0).permutation(len(frame))[:MAX_ROWS]
        frame = frame.iloc[order].reset_index(drop=True)
        target = frame[self.target].to_numpy()
        if self.classes:
            names, numbers, counts = np.unique(target, return_inverse=True, return_counts=True)
            kept = counts[numbers] >= 10  # every fold must see every class
            frame, target = frame[kept].reset_index(drop=True), np.unique(names[numbers][kept], return_inverse=True)[1]
        columns = frame.drop(columns=[self.target, *self.drop])
        for name in columns.select_dtypes(exclude=["number", "bool"]):
            columns[name] = columns[name].astype("category")
        return columns, target if self.classes else target.astype(np.float64)

    @property
    def chosen_on(self) -> bool:
        """Whether the preset's settings were chosen on this table."""
        alike = [table for table in TABLES if table.classes == self.classes]
        return alike.index(self) % 2 == 0


def _numbers(name: str, target: str, *drop: str, file: str = "") -> Table:
    return Table(name, target, drop, file, classes=False)


TABLES = [
    Table("adult", "income", file="train.csv.gz"),
    Table("ann_thyroid", "target"),
    Table("attrition", "Attrition"),
    Table("bank_churn_10k", "Exited", ("RowNumber", "CustomerId", "Surname")),
    Table("bank_marketing", "y", ("duration",), "bank-full.csv.gz"),
    Table("car_evaluation", "class"),
    Table("churn", "churn"),
    Table("cmc", "Contraceptive_method_used"),
    Table("covertype", "Cover_Type"),
    Table("credit_data", "Status"),
    Table("credit_g", "class"),
    Table("electrical_grid", "stabf"),
    Table("electricity", "target"),
    Table("health_insurance", "health"),
    Table("higgs_7k", "label", file="train.csv.gz"),
    Table("hmda", "deny"),
    Table("kr_vs_kp", "class"),
    Table("lending_club", "Class"),
    Table("letter", "letter"),
    Table("mammography", "class"),
    Table("page_blocks", "target"),
    Table("phoneme", "class"),
    Table("pima_diabetes", "class"),
    Table("satimage", "target"),
    Table("segment", "class"),
    Table("sick", "Class"),
    Table("spambase", "class"),
    Table("stroke", "stroke", ("id",)),
    Table("titanic", "Survived", ("PassengerId", "Name", "Ticket", "Cabin")),
    Table("vehicle", "Class"),
    Table("waveform5000", "class"),
    Table("yeast", "target"),
    _numbers("abalone", "rings"),
    _numbers("ailerons", "goal"),
    _numbers("airfoil", "pressure_db"),
    _numbers("ames_raw", "SalePrice", "Order", "PID"),
    _numbers("beijing_pm25", "pm2.5", "No"),
    _numbers("bike_sharing", "cnt", "instant", "dteday", "casual", "registered", file="hour.csv.gz"),
    _numbers("california_housing", "median_house_value"),
    _numbers("concrete", "strength"),
    _numbers("cps1988", "wage"),
    _numbers("cpu_act", "target"),
    _numbers("diamonds", "price"),
    _numbers("elevators", "Goal"),
    _numbers("energy_efficiency", "Heating Load", "Cooling Load"),
    _numbers("kin8nm", "y"),
    _numbers("mpg", "mpg", "name"),
    _numbers("power_plant", "PE"),
    _numbers("taxis", "fare", "total", "tip", "tolls", "pickup", "dropoff"),
    _numbers("wine_quality", "quality"),
]
BY_NAME = {table.name: table for table in TABLES}
