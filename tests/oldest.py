"""Print pip constraints: the oldest release of each dependency that pyproject.toml allows."""

import re
import tomllib
from pathlib import Path

with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
    project = tomllib.load(file)["project"]
extras = (requirement for extra in project["optional-dependencies"].values() for requirement in extra)
for requirement in (*project["dependencies"], *extras):
    if bound := re.match(r"([\w.-]+)>=([\d.]+)", requirement):
        print(f"{bound[1]}~={bound[2]}{'.0' * (2 - bound[2].count('.'))}")
