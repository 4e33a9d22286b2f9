"""Runs that have everything a checkpoint must keep: dropout, shuffling, patience, plateaus, schedules."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linnet.data.rows import Rows
from linnet.fit.checkpoint.checkpoint import Checkpoint, checkpointed
from linnet.fit.loop.optimizers import SGD, Adagrad, Adam, AdamW, RMSprop
from linnet.fit.loop.schedules import Cosine, ExponentialDecay
from linnet.fit.loop.stopping import EarlyStopping, ReduceLROnPlateau
from linnet.fit.loop.training import Epoch, Plan, Training
from linnet.heads import Categorical
from linnet.heads.activations import Activation
from linnet.model.network import Layer, Network

NETWORK = Network(6, (Layer(9, Activation("tanh"), l2=1e-3), Layer(3, dropout=0.3)), Categorical())
STOPPING = EarlyStopping(patience=3)
PLATEAU = ReduceLROnPlateau(patience=1, factor=0.5, cooldown=1)

BASE = Plan(Adam(0.02), epochs=12, batch_size=16, seed=4)
PLANS = {
    "sgd": replace(BASE, optimizer=SGD(0.1)),
    "momentum": replace(BASE, optimizer=SGD(0.1, momentum=0.9, clip_norm=1.0)),
    "adagrad": replace(BASE, optimizer=Adagrad(0.1)),
    "rmsprop": replace(BASE, optimizer=RMSprop(0.01)),
    "adam": BASE,
    "adamw": replace(BASE, optimizer=AdamW(0.02), shuffle=False),
    "amsgrad": replace(BASE, optimizer=Adam(0.02, amsgrad=True)),
    "schedule": replace(BASE, optimizer=Adam(Cosine(0.05, epochs=10, warmup=3))),
    "patience": replace(BASE, optimizer=Adam(0.05), epochs=50, stopping=STOPPING),
    "patience, last kept": replace(BASE, epochs=50, stopping=replace(STOPPING, restore_best_weights=False)),
    "plateau": replace(BASE, optimizer=SGD(ExponentialDecay(2.0, decay=0.99)), epochs=20, plateau=PLATEAU),
    "tolerance": replace(BASE, optimizer=SGD(0.05), epochs=50, tolerance=3e-3),
}


def rows_of(n: int = 90, seed: int = 0, *, weights: bool = True) -> Rows:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, NETWORK.inputs))
    labels = (x[:, 0] + rng.normal(size=n) > 0).astype(np.int32) + (x[:, 1] > 0.5).astype(np.int32)
    return Rows(x, labels=labels, weights=rng.random(n) + 0.5 if weights else None)


ROWS, HELD = rows_of(), rows_of(40, 1, weights=False)


def start() -> Any:
    return np.random.default_rng(2).normal(size=NETWORK.size) * 0.3


def training_of(plan: Plan) -> Training:
    return Training(NETWORK, start(), ROWS, plan, HELD)


def without_times(history: Any) -> list[Any]:
    """The records without their times."""
    return [(e.epoch, dict(e.numbers), e.learning_rate) for e in history if isinstance(e, Epoch)]


def leave_after(epochs: int, training: Training, path: Path, every: int = 1, **options: Any) -> None:
    """Train so many epochs with checkpoints, and leave."""
    records = checkpointed(training, Checkpoint(path, epochs=every), **options)
    left = epochs
    while left and (record := next(records, None)):
        left -= isinstance(record, Epoch)
    records.close()
