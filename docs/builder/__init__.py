"""The documentation as a folder of HTML pages that need no network: `python -m builder build/docs`, in docs/."""
