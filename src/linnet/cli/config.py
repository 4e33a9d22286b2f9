"""`linnet config`."""


def config() -> None:
    """Print the versions, processor and settings in use."""
    from linnet.config import show_config

    show_config()
