"""Networks for tables: columns are prepared, members agree whatever the threads, and it predicts better."""

import copy
import os
import pickle
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.utils.estimator_checks import check_estimator

import linnet
from linnet.data.rows import Rows
from linnet.data.tabular_encoder import TabularEncoder, bin_edges, learn_numbers, smooth_clip
from linnet.errors import ConfigError, DataError, DataWarning
from linnet.estimators.mlp.settings import CHOSEN, SCIKIT_LEARN, Settings
from linnet.estimators.tabular.calibration import inverse_temperature
from linnet.estimators.tabular.fitter import TabularFitter, chosen_for, split
from linnet.fit.checkpoint.checkpoint import _identity
from linnet.heads import Bernoulli, Head, Normal, Poisson

DATA = Path(os.environ.get("LINNET_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
QUICK: dict[str, Any] = {"preset": "tabular", "max_iter": 12, "hidden_layer_sizes": (8,), "random_state": 0}


def frame(rows: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    size, colour = random.normal(size=rows), random.choice(["red", "green", "blue"], rows)
    y = 3 * np.sin(2 * size) + 2 * (colour == "red") + 0.1 * random.normal(size=rows)
    table = pd.DataFrame({"size": size, "colour": colour, "big": size > 1})
    table.loc[random.random(rows) < 0.1, "size"] = np.nan
    table.loc[random.random(rows) < 0.1, "colour"] = None
    return table, y


# ---- the columns ----


def test_numbers_are_centred_scaled_and_clipped() -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
    out = learn_numbers(x, bins=0).apply(x)
    u = (x[:, 0] - 2) / 2  # median 2, quartiles 1 and 3
    np.testing.assert_allclose(out[:, 0], u / np.sqrt(1 + (u / 3) ** 2), rtol=1e-6)
    assert np.abs(smooth_clip(np.array([-1e9, 1e9]))).max() <= 3


def test_scale_falls_back_to_half_the_range_and_then_to_one() -> None:
    mostly, constant = np.array([0.0] * 9 + [4.0]), np.full(10, 7.0)
    learned = learn_numbers(np.column_stack([mostly, constant]), bins=4)
    np.testing.assert_allclose(learned.scale, [1 / 2, 1])
    assert np.isfinite(learned.apply(np.array([[1.0, 8.0]]))).all()


def test_gaps_become_the_median_and_a_column_that_says_so() -> None:
    x = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0]])
    learned = learn_numbers(x, bins=0)
    assert learned.apply(x).tolist()[1] == [0, 0, 1]
    assert learned.apply(np.array([[2.0, np.nan]])).tolist() == [
        [0, 0, 0]
    ]  # a column without missing values in training may have some later


def test_bins_are_piecewise_linear_between_quantiles() -> None:
    x = np.arange(101.0)[:, None]
    learned = learn_numbers(x, bins=4)
    np.testing.assert_array_equal(learned.edges[0], [0, 25, 50, 75, 100])
    np.testing.assert_allclose(learned.apply(np.array([[60.0]]))[0, 1:], [1, 1, 0.4, 0])


def test_a_value_that_fills_many_bins_leaves_the_others_theirs() -> None:
    known = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    np.testing.assert_array_equal(bin_edges(known, 8), [0, 16, 44, 72, 100])  # plain quantiles: all 0 but the last
    np.testing.assert_array_equal(bin_edges(np.array([1.0, 2.0, 2.0, 5.0]), 8), [1, 2, 5])


def test_levels_rare_unseen_or_missing_have_no_column() -> None:
    table = pd.DataFrame({"x": ["a"] * 5 + ["b"] * 5 + ["c", None]})
    preparer, learned = TabularEncoder.learn(table)
    assert learned.levels == (2,)
    assert preparer.coefficient_names == ["x=a", "x=b"]
    assert learned.codes[0].tolist() == [0] * 5 + [1] * 5 + [-1, -1]
    with pytest.warns(DataWarning, match="never seen"):
        assert preparer.encode(pd.DataFrame({"x": ["z", "b"]})).codes[0].tolist() == [-1, 1]


def test_sparse_columns_stay_sparse() -> None:
    random = np.random.default_rng(0)
    x = scipy.sparse.csr_array(random.random((300, 40)) * (random.random((300, 40)) < 0.1))
    columns = TabularEncoder.learn(x * 50)[1]
    assert not columns.tables
    assert columns.sparse is not None
    assert np.abs(columns.sparse[2]).max() == 1
    y = np.asarray(x.sum(axis=1)).ravel() > 2
    for learned, other in ((x, x.toarray()), (x.toarray(), x)):
        model = linnet.MLPClassifier(**QUICK).fit(learned, y)
        np.testing.assert_allclose(model.predict_proba(other), model.predict_proba(learned), rtol=1e-5)


def test_infinity_is_refused() -> None:
    x = np.ones((10, 2))
    x[3, 1] = np.inf
    with pytest.raises(DataError, match="row 3, numeric column 1"):
        linnet.MLPRegressor(**QUICK).fit(x, np.arange(10.0))


# ---- the ensemble ----


def test_members_hold_out_different_rows_with_the_same_mix() -> None:
    labels = np.repeat([0, 1], [80, 16]).astype(np.int32)
    cuts = split(Rows(np.zeros((96, 1)), labels=labels), 8, 8, seed=0)
    assert sorted(np.concatenate([held for _, held in cuts])) == list(range(96))
    for train, held in cuts:
        assert not set(train) & set(held)
        assert labels[held].sum() == 2


def test_temperature_undoes_too_much_confidence() -> None:
    random = np.random.default_rng(0)
    z = random.normal(size=(4000, 1)) * 2
    t = (random.random((4000, 1)) < 1 / (1 + np.exp(-z))).astype(float)
    rows = Rows(np.zeros((4000, 0)), values=t)
    assert inverse_temperature(Bernoulli(), 2 * z, rows) == pytest.approx(0.5, rel=0.1)


@pytest.mark.usefixtures("teams_of_any_size")
def test_same_bytes_for_any_number_of_threads() -> None:
    x, y = frame()
    found = [linnet.MLPRegressor(**QUICK, threads=threads).fit(x, y).predict(x) for threads in (1, 2, 3)]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_a_frame_with_gaps_and_all_that_a_fit_shows() -> None:
    x, y = frame()
    model = linnet.MLPRegressor(**QUICK).fit(x, y)
    assert len(model.members_) > 1
    assert len(model._encoder.coefficient_names) == len(model.coefs_[0])
    np.testing.assert_array_equal(model.coefs_[0], model.members_[0][0].weights)
    assert len(model.loss_curve_) == model.n_iter_ == len(model.history_["val_loss"]) <= 12
    assert model.stop_reason_.startswith("member 1: ")
    assert model.validation_scores_ == model.history_["val_loss"]
    low, high = model.predict_interval(x)
    assert ((low < y) & (y < high)).mean() > 0.8
    assert model.sample(x, random_state=0).shape == y.shape
    assert y.min() <= model.predict(x).min() <= model.predict(x).max() <= y.max()
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(x).tobytes() == model.predict(x).tobytes()


def test_targets_of_any_unit() -> None:
    x, y = frame()
    plain = linnet.MLPRegressor(**QUICK).fit(x, y).predict(x)
    scaled = linnet.MLPRegressor(**QUICK).fit(x, 1e6 * y + 1e7).predict(x)
    np.testing.assert_allclose(scaled, 1e6 * plain + 1e7, rtol=1e-3, atol=2e4)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "poisson", lambda y, t: (y - t) ** 2])
def test_every_loss_of_the_regressor(loss: Any) -> None:
    x, y = frame()
    t = np.round(np.abs(y))
    model = linnet.MLPRegressor(loss, **QUICK).fit(x, t)
    assert np.corrcoef(model.predict(x), t)[0, 1] > 0.2


def test_several_targets_and_labels() -> None:
    x, y = frame()
    both = np.column_stack([y, -y])
    assert linnet.MLPRegressor(**QUICK).fit(x, both).predict(x).shape == both.shape
    labels = (both > 0).astype(int)
    assert linnet.MLPClassifier(**QUICK).fit(x, labels).predict_proba(x).shape == labels.shape


def test_probabilities_agree_with_the_decision_function() -> None:
    x, y = frame()
    for classes in (np.where(y > 0, "yes", "no"), np.digitize(y, [-1, 1])):
        model = linnet.MLPClassifier(**QUICK).fit(x, classes)
        p = model.predict_proba(x)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), p, rtol=1e-6)
        assert (model.predict(x) == model.classes_[p.argmax(axis=1)]).all()


def test_weights_count() -> None:
    x, y = frame()
    labels = y > 0
    plain = linnet.MLPClassifier(**QUICK).fit(x, labels).predict_proba(x)[:, 1].mean()
    heavy = linnet.MLPClassifier(**QUICK).fit(x, labels, np.where(labels, 10.0, 1.0)).predict_proba(x)[:, 1].mean()
    balanced = linnet.MLPClassifier(**QUICK, class_weight={True: 10.0, False: 1.0}).fit(x, labels)
    assert heavy > plain + 0.1
    assert balanced.predict_proba(x)[:, 1].mean() == pytest.approx(heavy, abs=1e-6)


def test_own_validation_rows_and_metrics_in_the_targets_unit() -> None:
    x, y = frame(480)
    model = linnet.MLPRegressor(**QUICK).fit(
        x[:240], 100 * y[:240], eval_set=(x[240:], 100 * y[240:]), eval_metric="rmse"
    )
    rmse = np.sqrt(np.mean((model.predict(x[240:]) - 100 * y[240:]) ** 2))
    assert rmse == pytest.approx(min(model.history_["val_rmse"]), rel=0.25)


def test_records_as_they_come() -> None:
    x, y = frame()
    model = linnet.MLPRegressor(**QUICK)
    for record in model.fit_stream(x, y):
        if record.epoch == 3:
            break
    assert model.n_iter_ == 3
    assert np.isfinite(model.predict(x)).all()


def test_explicit_parameters_win() -> None:
    x, y = frame()
    model = linnet.MLPRegressor(preset="tabular", hidden_layer_sizes=(5, 4), max_iter=2, random_state=0).fit(x, y)
    assert [weights.shape[1] for weights in model.coefs_] == [5, 4, 1]
    assert model.n_iter_ == 2
    assert clone(model).get_params() == model.get_params()


def test_what_does_not_go_together_is_refused() -> None:
    x, y = frame()
    assert not hasattr(linnet.MLPRegressor(preset="tabular"), "partial_fit")
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"solver": "lbfgs"}, "trained by epochs"),
        ({"warm_start": True}, "warm_start cannot be combined with preset='tabular', .* use checkpoint"),
        ({"preset": "tables"}, "unknown preset 'tables'"),
    ]
    for wrong, reason in wrongs:
        with pytest.raises(ConfigError, match=reason):
            linnet.MLPRegressor(**({"preset": "tabular"} | wrong)).fit(x, y)


@pytest.mark.parametrize("rows", [1, 2, 3, 9])
def test_very_few_rows(rows: int) -> None:
    x, y = np.arange(2.0 * rows).reshape(rows, 2), np.arange(float(rows))
    assert np.isfinite(linnet.MLPRegressor(**QUICK).fit(x, y).predict(x)).all()


def test_better_than_the_plain_network_on_a_real_table() -> None:
    path = DATA / "credit_g" / "credit_g.csv.gz"
    if not path.exists():
        pytest.skip(f"credit_g is not in {DATA}: set LINNET_DATA to the folder of data sets")
    table = pd.read_csv(path)
    x, y = table.drop(columns="class"), table["class"].to_numpy()
    train, test = np.arange(len(y)) % 4 > 0, np.arange(len(y)) % 4 == 0
    plain = linnet.MLPClassifier(early_stopping=True, random_state=0).fit(x[train], y[train])
    strong = linnet.MLPClassifier(preset="tabular", random_state=0).fit(x[train], y[train])
    losses = [log_loss(y[test], model.predict_proba(x[test])) for model in (plain, strong)]
    assert losses[1] < losses[0] - 0.02


@pytest.mark.parametrize(
    "model",
    [
        linnet.MLPClassifier(32, preset="tabular", max_iter=20, threads=1),
        linnet.TabularClassifier(32, max_iter=20, threads=1),
        linnet.TabularRegressor(hidden_layer_sizes=32, max_iter=20, threads=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scikit_learns_checks(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == {
        # the validation rows differ between a row of weight 2 and the same row twice
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    }


def test_what_is_written_is_what_is_done() -> None:
    """Given values are used even if they equal scikit-learn's defaults; only the others are left to the preset."""
    X, y = np.random.default_rng(0).normal(size=(80, 3)), np.arange(80) % 2
    written: dict[str, Any] = {"hidden_layer_sizes": (100,), "max_iter": 2, "validation_fraction": 0.1}
    own = linnet.MLPClassifier(**written, learning_rate="constant", preset="tabular", random_state=0).fit(X, y)
    assert [len(biases) for biases in own.intercepts_] == [100, 1]
    assert len({*own.history_["learning_rate"]}) == 1
    assert own.n_iter_ == 2
    chosen = linnet.MLPClassifier(preset="tabular", max_iter=2, random_state=0).fit(X, y)
    assert [len(biases) for biases in chosen.intercepts_] == [128, 128, 1]
    assert len({*chosen.history_["learning_rate"]}) == 2
    plain = linnet.MLPClassifier(max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [len(biases) for biases in plain.fit(X, y).intercepts_] == [100, 1]


@pytest.mark.parametrize("name", CHOSEN)
def test_every_parameter_that_a_preset_chooses_may_be_written(name: str) -> None:
    """What is in the table of the docstrings, and no more, differs from scikit-learn's."""
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.arange(300.0) % 7
    quick: dict[str, Any] = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0, "preset": "tabular"}
    usual: Any = SCIKIT_LEARN[name] if name != "batch_size" else 200
    if name in ("tol", "n_iter_no_change"):  # which 3 epochs do not show
        settings = linnet.MLPRegressor(**{name: usual}, preset="tabular")._settings()
        assert getattr(settings, name) == usual
        return
    if name in quick:
        quick[name] = "auto"
    loss = "poisson" if name == "clip_norm" else "squared_error"
    quick |= {"learning_rate_init": 30.0} if name == "clip_norm" else {}
    chosen = TabularFitter(linnet.MLPRegressor(loss, **quick)._prepare(X, y, None))
    written = TabularFitter(linnet.MLPRegressor(loss, **{**quick, name: usual})._prepare(X, y, None))
    assert _identity(chosen.training) != _identity(written.training)


def test_nothing_written_survives_everything(tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    for model in (linnet.MLPClassifier(preset="tabular", max_iter=1), linnet.TabularClassifier(max_iter=1)):
        again = type(model)().set_params(**model.get_params())
        assert repr(again) == repr(model) == repr(clone(model)) == repr(copy.deepcopy(model))
        model.fit(X, y).save(tmp_path / "a.linnet")
        for other in (linnet.load(tmp_path / "a.linnet"), pickle.loads(pickle.dumps(model)), clone(model)):
            assert other.get_params() == model.get_params()
            assert other.learning_rate == "auto"


def test_the_preset_is_a_door_to_the_tabular_estimators() -> None:
    x, y = frame()
    pairs: list[tuple[Any, Any, Any]] = [
        (linnet.MLPClassifier, linnet.TabularClassifier(max_iter=2, random_state=0), y > 0),
        (linnet.MLPRegressor, linnet.TabularRegressor(max_iter=2, random_state=0), y),
        (linnet.MLPRegressor, linnet.TabularRegressor("poisson", random_state=0, max_iter=2), np.round(np.abs(y))),
    ]
    for kind, own, target in pairs:
        loss = {"loss": own.loss} if kind is linnet.MLPRegressor else {}
        door = kind(preset="tabular", max_iter=2, random_state=0, **loss).fit(x, target)
        assert door.predict(x).tobytes() == own.fit(x, target).predict(x).tobytes()
        assert not hasattr(own, "partial_fit")
    with pytest.raises(ConfigError, match="solver='lbfgs' cannot train networks for tables"):
        linnet.TabularClassifier(solver="lbfgs").fit(x, y > 0)


def test_what_the_preset_has_always_chosen() -> None:
    """Other numbers would be other bytes for every call that leaves the choice to it."""
    fixed = {"hidden_layer_sizes": (128, 128), "solver": "adamw", "alpha": 0.0, "batch_size": 128, "dropout": 0.1}
    fixed |= {"tol": 0.0, "weight_decay": 0.02, "validation_fraction": 0.125}
    of_classes = {"activation": "silu", "learning_rate_init": 0.012, "clip_norm": None}
    by_data = dict.fromkeys(("learning_rate", "max_iter", "n_iter_no_change"), "auto")
    of_numbers = dict.fromkeys(of_classes, "auto")
    for kind, own in ((linnet.MLPClassifier, of_classes), (linnet.MLPRegressor, of_numbers)):
        meant = kind._resolve(kind(preset="tabular").get_params())
        assert {name: meant[name] for name in CHOSEN} == fixed | own | by_data


@pytest.mark.parametrize(("rows", "epochs", "patience"), [(100, 100, 25), (4000, 55, 13), (20_000, 25, 8)])
@pytest.mark.parametrize(("head", "activation", "rate"), [(Normal(), "gelu", 0.02), (Poisson(), "silu", 0.012)])
def test_what_the_data_choose(rows: int, epochs: int, patience: int, head: Head, activation: str, rate: float) -> None:
    model = linnet.TabularRegressor()
    table = Rows(np.zeros((rows, 1)), values=np.full((rows, 1), 2.0))
    chosen = chosen_for(table, head, 1, model._settings())
    assert (chosen.max_iter, chosen.n_iter_no_change) == (epochs, patience)
    assert (chosen.activation, chosen.learning_rate_init) == (activation, rate)
    assert chosen.learning_rate == linnet.Cosine(rate, epochs=epochs, warmup=1.0)


def test_an_optimizer_object_clips_as_it_says() -> None:
    x, y = frame()
    model = linnet.TabularRegressor("poisson", (4,), solver=linnet.AdamW(0.01), max_iter=2, random_state=0)
    assert np.isfinite(model.fit(x, np.round(np.abs(y))).predict(x)).all()


@pytest.mark.filterwarnings("ignore:the checkpoint was written by")
def test_files_from_before_a_parameter_could_be_auto(tmp_path: Path) -> None:
    """With a preset, values in them that equal scikit-learn's defaults were not given by anybody."""
    x = np.arange(96.0).reshape(48, 2) % 7
    y = x[:, 0] - (x[:, 1] > 3)
    now = linnet.MLPRegressor(hidden_layer_sizes=(3,), max_iter=4, random_state=0, preset="tabular")
    expected = clone(now).fit(x, y)
    files = Path(__file__).parents[2] / "export" / "files"
    shutil.copy(files / "format-1-tabular.ckpt", tmp_path / "run.ckpt")
    shutil.copy(tmp_path / "run.ckpt", tmp_path / "again.ckpt")
    resumed = [linnet.resume(tmp_path / "run.ckpt", x, y), linnet.resume(tmp_path / "again.ckpt", x, y, model=now)]
    read = linnet.load(files / "format-1-tabular.linnet")
    np.testing.assert_allclose(read.predict(x), expected.predict(x), rtol=1e-5)
    for model in (*resumed, read.fit(x, y)):
        np.testing.assert_allclose(model.predict(x), expected.predict(x), rtol=1e-5)
        assert (model.solver, model.batch_size, model.n_iter_) == ("auto", "auto", 4)
    wrong = clone(expected).set_params(solver="adam")
    shutil.copy(files / "format-1-tabular.ckpt", tmp_path / "other.ckpt")
    with pytest.raises(ConfigError, match="solver was 'adamw', now 'adam'"):
        linnet.resume(tmp_path / "other.ckpt", x, y, model=wrong)


def test_parameters_that_a_preset_names_stay_with_a_warning() -> None:
    X, y = np.random.default_rng(0).normal(size=(80, 3)), np.arange(80) % 2
    named = linnet.MLPClassifier(preset=("tabular", "hidden_layer_sizes", "solver"), max_iter=1, random_state=0)
    with pytest.warns(DeprecationWarning, match="preset='tabular' and set the parameters"):
        named.fit(X, y)
    own = linnet.MLPClassifier((100,), solver="adam", preset="tabular", max_iter=1, random_state=0).fit(X, y)
    assert own.predict_proba(X).tobytes() == named.predict_proba(X).tobytes()
    with pytest.raises(ConfigError, match="unknown preset 'tables'"):
        linnet.MLPClassifier(preset="tables").fit(X, y)
    with (
        pytest.raises(ConfigError, match="unknown parameter in preset 'solvr': did you mean 'solver'"),
        pytest.warns(DeprecationWarning, match="set the parameters"),
    ):
        linnet.MLPClassifier(preset=("tabular", "solvr")).fit(X, y)


def test_every_written_parameter_counts() -> None:
    X, y = np.random.default_rng(0).normal(size=(160, 3)), np.arange(160.0)
    quick: dict[str, Any] = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0, "preset": "tabular"}
    plain = linnet.MLPRegressor(**quick).fit(X, y)
    halves = linnet.MLPRegressor(**quick, validation_fraction=0.5).fit(X, y)
    assert len(halves.members_) == 2
    arrays: dict[str, Any] = {**quick, "hidden_layer_sizes": np.array([4]), "dropout": np.array([0.1])}
    same = linnet.MLPRegressor(**arrays).fit(X, y)
    np.testing.assert_array_equal(same.predict(X), plain.predict(X))
    with pytest.raises(ConfigError, match="batch_size must be"):
        linnet.MLPRegressor(**quick, batch_size="x").fit(X, y)


def test_counts_under_very_different_exposures() -> None:
    """The networks start at the rate, and not at the mean count, which exposures would multiply once more."""
    rng = np.random.default_rng(0)
    x, exposure = rng.normal(size=(600, 2)), rng.uniform(100, 10_000, 600)
    counts = rng.poisson(0.02 * exposure * np.exp(0.3 * x[:, 0]))
    model = linnet.MLPRegressor("poisson", preset="tabular", random_state=0).fit(x, counts, exposure=exposure)
    predicted = model.predict(x, exposure=exposure)
    rate = counts.sum() / exposure.sum()
    assert mean_poisson_deviance(counts, predicted) < 0.2 * mean_poisson_deviance(counts, rate * exposure)


def test_targets_far_from_zero() -> None:
    """A spread that single precision would lose beside the mean."""
    x = np.random.default_rng(0).normal(size=(300, 2))
    model = linnet.MLPRegressor(preset="tabular", random_state=0).fit(x, x[:, 0] + 1e9)
    assert model.score(x, x[:, 0] + 1e9) > 0.95


@pytest.mark.parametrize(("loss", "norm"), [("poisson", 3000.0), ("gamma", 1000.0), ("squared_error", None)])
def test_only_steps_that_run_away_are_cut(monkeypatch: pytest.MonkeyPatch, loss: str, norm: float | None) -> None:
    """With e^z a step too far can be the last; the norm is no smaller for small counts' sake, as it biases the mean."""
    seen, made = [], Settings.optimizer

    def spied(settings: Settings, rows: int) -> Any:
        if rows > 1:  # which is but a check
            seen.append(settings.clip_norm)
        return made(settings, rows)

    monkeypatch.setattr(Settings, "optimizer", spied)
    y = np.tile([1.0, 5.0], 30)
    linnet.MLPRegressor(preset="tabular", loss=loss, max_iter=1, random_state=0).fit(np.arange(60.0)[:, None], y)
    assert seen == pytest.approx([norm] * 4)


def test_intervals_are_around_what_is_predicted() -> None:
    """Predictions stay within the range of the targets, and their spread is that of predictions that do."""
    x = np.random.default_rng(0).normal(size=(60, 3))
    model = linnet.MLPRegressor(preset="tabular", max_iter=2, random_state=0).fit(x, np.full(60, 3.0))
    np.testing.assert_array_equal(model.predict(x), 3.0)
    np.testing.assert_array_equal(model.predict_interval(x), 3.0)


@pytest.mark.parametrize("size", [1e-300, 1.0])
def test_numbers_far_beyond_those_learned_from_are_the_largest_and_never_the_median(size: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)) * [size, 1]
    model = linnet.TabularRegressor(max_iter=10, random_state=0).fit(x, x[:, 0] / size)
    rows = np.array([[sign * far, 0.3] for far in (1e20, 1e160, 1e300, 1.7e308) for sign in (-1, 1)])
    for found in (model.predict(rows), smooth_clip(rows[:, 0])):
        low, high = found[::2], found[1::2]
        np.testing.assert_array_equal(low, low[0])
        np.testing.assert_array_equal(high, high[0])
        assert low[0] < -0.5 < 0.5 < high[0]
