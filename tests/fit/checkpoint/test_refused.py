"""What is not resumed: other parameters, other data, damaged files."""

import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.errors import CheckpointWarning, ConfigError, DataError, FormatError
from linnet.fit.checkpoint import checkpoint as checkpoint_module
from linnet.fit.checkpoint import fingerprint
from linnet.fit.checkpoint.checkpoint import Checkpoint, checkpointed, read_checkpoint, resumed
from linnet.fit.checkpoint.fingerprint import digests_of
from linnet.fit.loop.optimizers import SGD, Adam
from linnet.fit.loop.training import Training

from .runs import BASE, HELD, NETWORK, PLANS, ROWS, STOPPING, leave_after, start, training_of, without_times


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"batch_size": 32}, "batch_size was 16, now 32"),
        ({"epochs": 13}, "epochs was 12, now 13"),
        ({"seed": 5}, "seed was 4, now 5"),
        ({"shuffle": False}, "shuffle was True, now False"),
        ({"optimizer": Adam(0.01)}, "optimizer.schedule.learning_rate was 0.02, now 0.01"),
        ({"optimizer": Adam(0.02, beta_1=0.8)}, "optimizer.beta_1 was 0.9, now 0.8"),
        ({"optimizer": Adam(0.02, amsgrad=True)}, "optimizer.amsgrad was None, now True"),
        ({"optimizer": SGD(0.02)}, "optimizer was Adam, now SGD"),
        ({"stopping": STOPPING}, "stopping was None, now EarlyStopping"),
        ({"tolerance": 1e-3, "seed": 3}, "seed was 4, now 3; tolerance was None, now 0.001"),
    ],
)
def test_another_plan_is_refused_by_name(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    leave_after(2, training_of(BASE), tmp_path / "run.ckpt")
    with pytest.raises(ConfigError, match=f"cannot resume with other parameters: {reason}$"):
        resumed(read_checkpoint(tmp_path / "run.ckpt"), training_of(replace(BASE, **change)))


def test_another_network_is_refused_by_name(tmp_path: Path) -> None:
    leave_after(2, training_of(BASE), tmp_path / "run.ckpt")
    saved = read_checkpoint(tmp_path / "run.ckpt")
    hidden, last = NETWORK.layers
    for layers, reason in [
        ((replace(hidden, units=10), last), r"network.layers\[0\].units was 9, now 10"),
        ((hidden, replace(last, dropout=0.5)), r"network.layers\[1\].dropout was 0.3, now 0.5"),
        ((last,), r"network.layers was 2 of them, now 1 of them$"),
    ]:
        network = replace(NETWORK, layers=layers)
        training = Training(network, np.ones(network.size), ROWS, BASE, HELD)
        with pytest.raises(ConfigError, match=reason):
            resumed(saved, training)


def test_other_data_are_refused_by_name(tmp_path: Path) -> None:
    leave_after(2, training_of(BASE), tmp_path / "run.ckpt")
    saved = read_checkpoint(tmp_path / "run.ckpt")
    assert ROWS.labels is not None
    assert ROWS.weights is not None
    x, labels = np.array(ROWS.x), ROWS.labels.copy()
    x[40, 3] = np.nextafter(x[40, 3], 9)
    labels[7] = 2 - labels[7] // 2
    for rows, held, reason in [
        (replace(ROWS, x=x), HELD, "other data: X has other values$"),
        (replace(ROWS, labels=labels), HELD, "y has other values"),
        (replace(ROWS, x=np.asarray(ROWS.x, "float32")), HELD, "X was float64, now float32"),
        (ROWS[:80], HELD, r"X had the shape \(90, 6\), now \(80, 6\); y had"),
        (ROWS.weighted(None), HELD, "weights was given, now it is not"),
        (ROWS.weighted(2 * ROWS.weights), HELD, "weights has other values"),
        (ROWS, HELD[:30], "validation X had the shape"),
        (ROWS, None, "validation X was given, now it is not"),
    ]:
        with pytest.raises(DataError, match=reason):
            resumed(saved, Training(NETWORK, start().astype(np.asarray(rows.x).dtype), rows, BASE, held))


@pytest.mark.parametrize("block", [8, 100, 1 << 22])
def test_where_the_data_are_in_memory_does_not_matter(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = digests_of(ROWS, HELD)
    monkeypatch.setattr(fingerprint, "_BYTES_PER_BLOCK", block)
    table = np.asarray(ROWS.x)
    wide = np.zeros((table.shape[0], 2 * table.shape[1]))
    wide[:, ::2] = table
    for x in (table, np.asfortranarray(table), wide[:, ::2]):
        assert digests_of(replace(ROWS, x=x), HELD) == expected


def test_another_build_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_after(2, training_of(BASE), tmp_path / "run.ckpt")
    monkeypatch.setattr(checkpoint_module, "_build", lambda: "linnet 99 (v9)")
    with pytest.warns(CheckpointWarning, match=r"continues with linnet 99 \(v9\): the result may differ"):
        resumed(read_checkpoint(tmp_path / "run.ckpt"), training_of(BASE))


# ---- damage ----


@pytest.fixture(scope="module")
def two_generations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "run.ckpt"
    leave_after(4, training_of(PLANS["patience"]), path)
    return path


def damages(content: bytes) -> dict[str, bytes]:
    """Cut short in every part and at its borders, longer than it was, and with one bit flipped, everywhere in turn."""
    lines = content.split(b"\n", 3)
    borders = np.cumsum([len(line) + 1 for line in lines[:3]])
    rng = np.random.default_rng(0)
    cuts = {0, 1, len(content) - 1, *borders, *(borders - 1), *(borders + 1), *rng.integers(0, len(content), 20)}
    found = {f"cut at {cut}": content[:cut] for cut in cuts}
    for place in {*range(int(borders[1])), *rng.integers(0, len(content), 100)}:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        found[f"flipped at {place}"] = bytes(flipped)
    return {**found, "longer": content + b"\0", "zeros": bytes(len(content))}


def test_any_damage_is_found_and_the_previous_generation_taken(two_generations: Path, tmp_path: Path) -> None:
    path, older = tmp_path / "run.ckpt", tmp_path / "run.ckpt.previous"
    content, before = two_generations.read_bytes(), Path(f"{two_generations}.previous").read_bytes()
    for name, damaged in damages(content).items():
        path.write_bytes(damaged)
        older.unlink(missing_ok=True)
        with pytest.raises(FormatError, match=r"run.ckpt is damaged or"):
            read_checkpoint(path)
        older.write_bytes(before)
        with pytest.warns(CheckpointWarning, match=r"run.ckpt is damaged or .*resuming from .*run.ckpt.previous"):
            saved = read_checkpoint(path)
        assert len(saved.history) == 3, name
    older.write_bytes(before[:-1])
    with pytest.raises(FormatError, match=r"run.ckpt is damaged.*run.ckpt.previous is damaged"):
        read_checkpoint(path)


def test_a_damaged_file_never_takes_the_place_of_a_whole_one(two_generations: Path, tmp_path: Path) -> None:
    path, older = tmp_path / "run.ckpt", tmp_path / "run.ckpt.previous"
    path.write_bytes(b"damaged")
    shutil.copy(f"{two_generations}.previous", older)
    whole = training_of(PLANS["patience"])
    history = list(whole)
    with pytest.warns(CheckpointWarning):
        saved = read_checkpoint(path)
    training = resumed(saved, training_of(PLANS["patience"]))
    records = checkpointed(training, Checkpoint(path), saved=saved)
    assert older.read_bytes() == Path(f"{two_generations}.previous").read_bytes()
    assert without_times([*saved.history, *records]) == without_times(history)
    assert training.theta.tobytes() == whole.theta.tobytes()


def test_a_newest_generation_that_is_missing_is_no_damage(two_generations: Path, tmp_path: Path) -> None:
    shutil.copy(two_generations, tmp_path / "run.ckpt.previous")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_checkpoint(tmp_path / "run.ckpt").history) == 4
    with pytest.raises(FileNotFoundError):
        read_checkpoint(tmp_path / "other.ckpt")


def test_a_checkpoint_is_data_in_plain_sight(two_generations: Path) -> None:
    kind, _, facts, arrays = two_generations.read_bytes().split(b"\n", 3)
    assert kind == b"linnet checkpoint 3"
    assert json.loads(facts)["settings"]["batch_size"] == 16
    assert json.loads(arrays[8 : 8 + int.from_bytes(arrays[:8], "little")])["0 theta"]["shape"] == [NETWORK.size]
