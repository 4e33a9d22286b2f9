"""`linnet config`."""


def config() -> None:
    """Print the versions, processor and settings in use.

    Examples: `linnet config`, `LINNET_ISA=v2 linnet config`
    """
    from linnet.config import show_config

    show_config()
