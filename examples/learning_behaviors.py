"""How learning behaves: depth and batch size, optimizers, and what a softmax regression looks for, in three pictures.

Run `python examples/learning_behaviors.py`. The digits are 5,000 + 1,000 of MNIST's (28x28 pixels) where the folder
LINNET_DATA, or shared/data beside the repository, has them in mnist/; elsewhere the 8x8 digits of scikit-learn.
`--save FILE` also writes the numbers, of which `make pictures` draws the guide's figures.
"""

import argparse
import gzip
import json
import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray
from rich.progress import track
from sklearn.datasets import load_digits

from linnet import SGD, Adagrad, Adam, Dense, RMSprop, Sequential

Array = NDArray[Any]
Digits = tuple[Array, Array]  # images as rows of numbers from 0 to 1, and the digits they show
Curves = dict[str, list[float]]  # loss, accuracy, val_loss and val_accuracy: a number an epoch

BLUE, ORANGE, GREEN, PURPLE, YELLOW = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"  # safe for all eyes


def load() -> tuple[Digits, Digits]:
    """Digits to learn from, and digits to test."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("LINNET_DATA", beside)) / "mnist"
    if not folder.is_dir():
        images, labels = load_digits(return_X_y=True)
        return (images[:1297] / 16, labels[:1297]), (images[1297:] / 16, labels[1297:])

    def read(name: str, header: int) -> Array:
        return np.frombuffer(gzip.decompress((folder / f"{name}-ubyte.gz").read_bytes()), np.uint8, offset=header)

    train = read("train-images-idx3", 16).reshape(-1, 784)[:5000] / 255, read("train-labels-idx1", 8)[:5000]
    test = read("t10k-images-idx3", 16).reshape(-1, 784)[:1000] / 255, read("t10k-labels-idx1", 8)[:1000]
    return train, test


def one_layer() -> Sequential:
    return Sequential([Dense(10, "softmax", kernel_initializer="zeros")])


def two_layers() -> Sequential:
    return Sequential([Dense(10, "relu"), Dense(10, "softmax")])


def draw_curves(title: str, note: str, curves: dict[str, Curves], styles: list[dict[str, Any]], path: Path) -> None:
    """Loss above and accuracy below, training images on the left and test images on the right."""
    figure = Figure(figsize=(11, 8), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, (side, heading) in enumerate((("", "Training images"), ("val_", "Test images"))):
        for row, name in enumerate(("loss", "accuracy")):
            for (label, numbers), style in zip(curves.items(), styles, strict=True):
                epochs = range(1, len(numbers["loss"]) + 1)
                label = f"{label}: {numbers['val_accuracy'][-1]:.1%} right in the test"
                axes[row, column].plot(epochs, numbers[side + name], label=label, marker="o", markevery=[-1], **style)
        axes[0, column].set_title(heading)
        axes[1, column].set_xlabel("Epoch")
    loss, accuracy = axes[:, 0]
    loss.set(ylabel="Loss (cross-entropy)", yscale="log")
    loss.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    lowest = min(min(numbers["val_accuracy"][1:], default=0) for numbers in curves.values())
    accuracy.set(ylabel="Accuracy", ylim=(max(0, lowest - 0.03), 1.02))
    accuracy.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
    accuracy.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    figure.align_ylabels()
    figure.legend(*loss.get_legend_handles_labels(), loc="outside lower left", ncols=2, title=note, alignment="left")
    figure.savefig(path)


def draw_weights(model: Sequential, path: Path) -> None:
    """The weights of each digit as an image, all on one scale."""
    weights = model.get_weights()[0]
    side, largest = round(len(weights) ** 0.5), np.abs(weights).max()
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    figure.suptitle("What a softmax regression looks for: its weights, pixel by pixel")
    axes = figure.subplots(2, 5)
    for digit, panel in enumerate(axes.flat):
        image = panel.imshow(weights[:, digit].reshape(side, side), cmap="RdBu", vmin=-largest, vmax=largest)
        panel.set_title(f"{digit}")
        panel.set_axis_off()
    figure.colorbar(image, ax=axes, label="ink here speaks against the digit (red) or for it (blue)")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw how learning behaves, in three pictures.")
    parser.add_argument("--out", type=Path, default=Path("learning_behaviors"), help="folder for the pictures")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--save", type=Path, help="a JSON file for the numbers")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    (x, y), test = load()
    note = f"{len(x):,} training and {len(test[0]):,} test images"

    runs: dict[str, tuple[Sequential, Any, int]] = {
        f"{name}, batch size {batch_size}": (make(), SGD(0.1), batch_size)
        for name, make in (("One layer", one_layer), ("Two layers", two_layers))
        for batch_size in (1, 32)
    }
    rules = {
        "SGD": SGD(0.01),
        "SGD with momentum 0.9": SGD(0.01, momentum=0.9),
        "Adagrad": Adagrad(0.01),
        "RMSprop": RMSprop(0.001),
        "Adam": Adam(0.001),
    }
    runs |= {f"{name}, rate {rule.learning_rate:g}": (one_layer(), rule, 32) for name, rule in rules.items()}
    curves, parameters = {}, {}
    for name, (model, optimizer, batch_size) in track(runs.items(), "Training"):
        model.compile(optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        history = model.fit(x, y, batch_size, given.epochs, validation_data=test, verbose=0)
        curves[name], parameters[name] = history.history, model.count_params()

    if given.save:
        numbers = {
            name: {key: [float(f"{each:.4g}") for each in values] for key, values in history.items()}
            for name, history in curves.items()
        }
        kept = {"rows": [len(x), len(test[0])], "inputs": x.shape[1], "parameters": parameters, "curves": numbers}
        given.save.write_text(json.dumps(kept, indent=1) + "\n")

    weights, biases = runs["Two layers, batch size 1"][0].get_weights()[:2]
    dead = 10 - np.count_nonzero((x @ weights + biases > 0).any(axis=0))
    mpl.rc("axes", grid=True)
    mpl.rc("axes.spines", top=False, right=False)
    mpl.rc("figure", titlesize=15, titleweight="bold", dpi=150)
    mpl.rc("figure.constrained_layout", w_pad=0.1, h_pad=0.1)
    mpl.rc("grid", color="#e4e4e4")
    mpl.rc("legend", frameon=False)
    draw_curves(
        f"One layer ({x.shape[1]}-10, {parameters['One layer, batch size 1']:,} parameters) and two "
        f"({x.shape[1]}-10-10, {parameters['Two layers, batch size 1']:,}), in steps of 1 image and of 32",
        f"{note}; SGD, rate 0.1. The rough steps of 1 leave {dead} of the 10 relu units dead: 0 for every image.",
        {name: curves[name] for name in list(runs)[:4]},
        [{"color": color, "linestyle": line} for color in (BLUE, ORANGE) for line in ("--", "-")],
        given.out / "depth_and_batch_size.png",
    )
    draw_curves(
        f"Five optimizers on one layer ({x.shape[1]}-10)",
        f"{note}; batch size 32",
        {name: curves[name] for name in list(runs)[4:]},
        [{"color": color} for color in (BLUE, ORANGE, GREEN, PURPLE, YELLOW)],
        given.out / "optimizers.png",
    )
    draw_weights(runs["One layer, batch size 32"][0], given.out / "softmax_weights.png")
    print(f"Pictures are in {given.out}")


if __name__ == "__main__":
    main()
