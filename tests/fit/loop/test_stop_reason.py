"""Why a training ended: a kind that code compares, in words that users read and files keep."""

import copy
import json
import pickle
import warnings

import numpy as np
import pytest

import linnet
from linnet.fit.loop.stop_reason import StopKind, StopReason

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
WORDS = {
    "all 8 epochs done": StopKind.ALL_DONE,
    "all 3 iterations done": StopKind.ALL_DONE,
    "converged": StopKind.CONVERGED,
    "converged: the loss changed by less than 0.1 of itself": StopKind.CONVERGED,
    "score did not improve for 2 epochs (best 1 at epoch 3)": StopKind.NO_IMPROVEMENT,
    "loss did not improve at the lowest learning rate, 1e-06": StopKind.LOWEST_RATE,
    "member 1: all 2 epochs done; member 2: val_loss did not improve for 2 epochs (always NaN)": StopKind.MEMBERS,
    **{kind.value: kind for kind in (StopKind.NOT_STARTED, StopKind.INTERRUPTED, StopKind.LEFT_EARLY)},
}


@pytest.mark.parametrize("words", WORDS)
def test_words_of_files_are_read_as_their_kind(words: str) -> None:
    reason = StopReason.read(words)
    assert (reason.kind, reason, str(reason), json.dumps(reason)) == (WORDS[words], words, words, json.dumps(words))
    for other in (copy.deepcopy(reason), pickle.loads(pickle.dumps(reason))):
        assert (type(other), other.kind, other) == (StopReason, reason.kind, reason)


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown stop reason: 'tired'"):
        StopReason.read("tired")


def test_every_estimator_has_a_kind() -> None:
    kinds = {
        StopKind.ALL_DONE: linnet.MLPClassifier((3,), max_iter=2, random_state=0),
        StopKind.NO_IMPROVEMENT: linnet.MLPClassifier((3,), tol=10.0, n_iter_no_change=1, random_state=0),
        StopKind.CONVERGED: linnet.MLPClassifier((3,), solver="lbfgs", tol=1.0, random_state=0),
        StopKind.MEMBERS: linnet.TabularClassifier((3,), max_iter=2, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [model.fit(X, Y).stop_reason_.kind for model in kinds.values()] == [*kinds]
    left = linnet.MLPClassifier((3,), random_state=0)
    for record in left.fit_stream(X, Y):
        assert left.stop_reason_.kind is StopKind.IN_PROGRESS
        if record.epoch == 2:
            break
    assert left.stop_reason_.kind is StopKind.LEFT_EARLY
