"""The documentation as a folder of HTML pages that need no network: `python -m builder build/docs`, in docs/."""


class BuildError(Exception):
    """Why the site cannot be made: a link that leads nowhere, a block that fails, a page or table that is missing."""
