"""`linnet predict`."""

from pathlib import Path

import linnet

from .in_process import call


def test_columns_that_are_passed_on_stay_as_they_were_written(tmp_path: Path) -> None:
    rows = {"code": ["007", "A12"] * 50, "size": list(range(100)), "label": ["no", "yes", "yes"] * 33 + ["no"]}
    linnet.train(rows, "label", model="logistic").save(tmp_path / "model.linnet")
    new = tmp_path / "new.csv"
    new.write_text("id,code,size\n" + "".join(f"{k:05},007,0.5\n" for k in range(9)) + "1e3,A12,0.5\n")
    done = call("predict", "model.linnet", "new.csv", "--keep", "id", cwd=tmp_path)
    ids = [line.split(",")[0].strip('"') for line in done.out.splitlines()]
    assert ids == ["id", *(f"{k:05}" for k in range(9)), "1e3"]
