"""`python -m linnet` is the `linnet` command."""

from linnet.cli import command

if __name__ == "__main__":
    command()
