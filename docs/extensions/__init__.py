"""What the site needs beyond Sphinx and its theme: `make docs` runs Sphinx on docs/, whose conf.py names these."""

from pathlib import Path

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
