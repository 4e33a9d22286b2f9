"""Run the program given on standard input, then write the figures it left open to files."""

import sys

code = sys.stdin.read()
exec(compile(code, "block", "exec"), {"__name__": "__main__"})
if "matplotlib.pyplot" in sys.modules:
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        plt.figure(number).savefig(f"figure-{number:03}.svg", metadata={"Date": None})
