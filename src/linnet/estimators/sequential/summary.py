"""The table that `Sequential.summary` prints."""

from collections.abc import Sequence

from linnet.estimators.sequential.layers import Dense, Dropout
from linnet.model.network import Network


def summary(layers: Sequence[Dense | Dropout], network: Network) -> str:
    """Return a table of the layers, their output shapes and their numbers of parameters."""
    shapes = iter(zip(network.shapes, network.layers, strict=True))
    lines, width = [], network.inputs
    for layer in layers:
        if isinstance(layer, Dense):
            (inputs, width), spec = next(shapes)
            name = f"Dense ({layer.activation.name.replace('identity', 'linear')})"
            lines.append((name, f"(None, {width})", f"{(inputs + spec.bias) * width:,}"))
        else:
            lines.append((f"Dropout ({layer.rate:g})", f"(None, {width})", "0"))
    rule = "-" * 58
    table = "\n".join(f"{name:<26} {shape:<18} {count:>12}" for name, shape, count in lines)
    head = f"{'Layer':<26} {'Output shape':<18} {'Parameters':>12}"
    return f"{head}\n{rule}\n{table}\n{rule}\nTotal parameters: {network.free_parameters:,}"
