"""The switch between versions: `python -m extensions.versions public`, in docs/, lists the sites in public/*/ in each.

A site that stands by itself has only its own version. The list is a script beside versions.json, since a page opened
from disk may load scripts, but not read other files.
"""

import json
import sys
from pathlib import Path

from sphinx.application import Sphinx


def write(site: Path, names: list[str], here: str) -> None:
    """Write the list of versions into a site; others are folders beside it."""
    listed = [{"version": name, "url": "index.html" if name == here else f"../{name}/index.html"} for name in names]
    text = json.dumps(listed, indent=1)
    (site / "versions.json").write_text(f"{text}\n", "utf-8")
    (site / "versions.js").write_text(f"linnetVersions = {text};\n", "utf-8")


def gather(public: Path) -> list[str]:
    """List the sites in the folders of `public` in each of them: dev first, then from the newest version."""
    names = [page.parent.name for page in public.glob("*/index.html")]
    names.sort(key=lambda name: [int(part) if part.isdigit() else 999 for part in name.split(".")], reverse=True)
    for name in names:
        write(public / name, names, name)
    return names


def write_own(app: Sphinx, error: Exception | None) -> None:
    """List the version that was built."""
    if not error and app.builder.format == "html":
        write(Path(app.outdir), [app.config.version], app.config.version)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the list."""
    app.connect("build-finished", write_own)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    print(*gather(Path(sys.argv[1])))
