"""Build the site: `python -m extensions build/docs`, in docs/. What `make docs` and the tests do.

It is built from scratch, blocks aside, so that nothing is left of an earlier one; or not at all if nothing has changed.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from shutil import rmtree

from extensions import DOCS, ROOT
from extensions.blocks import installed


def state() -> str:
    """A digest of all that the site is made of."""
    written = sorted(path for path in DOCS.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    read = [path for path in written if not path.is_relative_to(DOCS / "reference")]
    digests = [f"{path.relative_to(DOCS)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in read]
    return "\n".join([installed(), os.environ.get("LINNET_DOCS_VERSION", ""), *digests])


def build(out: Path) -> None:
    """Build the site, one builder at a time; what is wrong with a page is an error."""
    out.mkdir(parents=True, exist_ok=True)
    stamp = ROOT / "build" / f"{out.name}.built"
    with stamp.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        now = f"{out.resolve()}\n{state()}"
        if stamp.exists() and stamp.read_text("utf-8") == now and (out / "index.html").exists():
            return
        stamp.unlink(missing_ok=True)
        rmtree(out)
        options = ["-q", "-W", "--keep-going", "-E", "-j", "auto", "-d", str(stamp.with_suffix(".doctrees"))]
        if subprocess.run([sys.executable, "-m", "sphinx", *options, str(DOCS), str(out)], check=False).returncode:
            sys.exit("error: the site is not as it should be; see above")
        stamp.write_text(now, "utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
    print(f"the site is in {sys.argv[1]}: open {Path(sys.argv[1]) / 'index.html'}")
