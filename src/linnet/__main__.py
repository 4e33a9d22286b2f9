"""`python -m linnet` is the `linnet` command."""

from linnet.cli import main

if __name__ == "__main__":
    main()
