"""Heads row by row: mean, loss, slope and curvature against the twin, against each other, and where z is large."""

import numpy as np
import pytest
from scipy.special import log_softmax as plain_log_softmax

from linnet.errors import ConfigError
from linnet.heads import HEADS as FAMILIES
from linnet.heads import Categorical, NegativeBinomial, Poisson, Tweedie, log_softmax
from linnet.heads.activations import Activation
from linnet.plain.power_variance import NegativeBinomial as NegativeBinomialHead

from .cases import HEADS, Array, HeadCase, assert_close, make_rows, numbers, seed_of
from .twin import plain_head

CASES = (
    *(case for case in HEADS if case.head.function is None),
    HeadCase("tweedie-0", Tweedie(0, "log"), 2, "values"),
    HeadCase("tweedie-1.9", Tweedie(1.9), 2, "counts"),
    *(HeadCase(f"tweedie-{q:g}-identity", Tweedie(q, "identity"), 2, "amounts") for q in (-0.5, 1, 1.5, 2, 3)),
)
WIDE = np.finfo(np.longdouble).maxexp > 10_000  # e^2000 is a number


def make(case: HeadCase, n: int) -> tuple[Array, Array, Array]:
    """z, targets as the head takes them, and as the twin does."""
    seed = seed_of(case.name, n)
    z = numbers(seed, n, case.outputs)
    rows = make_rows(case, 1, n, "float64", seed)
    if rows.values is not None:
        return np.abs(z) + 0.1 if case.head.family == "tweedie_identity" else z, rows.values, rows.values
    assert rows.labels is not None
    hot = rows.labels[:, None] == np.arange(case.outputs)
    return z, rows.labels, np.where(hot, 1.0, -1.0 if case.head.family == "perceptron" else 0.0)


@pytest.mark.parametrize("n", [1, 4, 5, 333])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_twin_agrees(case: HeadCase, n: int) -> None:
    head, plain, (z, t, plain_t) = case.head, plain_head(case.head), make(case, n)
    assert_close(head.mean(z), plain.mean(z), 1e-13, "mean")
    assert_close(head.loss(z, t), plain.loss(z, plain_t).sum(axis=1), 1e-13, "loss")
    slope = plain.slope(z, plain_t)  # a difference: right to the last digits of what it is taken from
    assert_close(head.slope(z, t), slope, 1e-13, "slope", scale=1 + float(np.abs([slope, plain_t]).max()))
    curved = plain.curvature(z, plain_t)
    total = plain_t.sum(axis=1, keepdims=True) if head.family == "categorical" else 1.0
    expected = plain.curvature(z, plain.mean(z)) * total  # linear in t: at its mean it is the mean over t
    assert_close(head.curvature(z, t), np.where(curved > 0, curved, expected), 1e-13, "curvature")
    assert_close(head.curvature(z, t, expected=True), expected, 1e-13, "expected curvature")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives_are_derivatives(case: HeadCase) -> None:
    """Slope and curvature against central differences of the core's own loss and slope."""
    head, step = case.head, 1e-5
    z, t, _ = make(case, 40)
    slope, curved = np.empty_like(z), np.empty_like(z)
    for k, move in enumerate(step * np.eye(case.outputs)):
        slope[:, k] = (head.loss(z + move, t) - head.loss(z - move, t)) / (2 * step)
        curved[:, k] = (head.slope(z + move, t) - head.slope(z - move, t))[:, k] / (2 * step)
    assert_close(head.slope(z, t), slope, 1e-7, "slope")
    known = curved > (1e-9 if head.family == "huber" else -1e-9)  # elsewhere its mean stands for it
    assert_close(head.curvature(z, t)[known], curved[known], 1e-7, "curvature", scale=1 + float(np.abs(curved).max()))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_row_depends_on_itself_alone(case: HeadCase) -> None:
    head, (z, t, _) = case.head, make(case, 21)
    whole = (head.mean(z), head.loss(z, t), head.slope(z, t), head.curvature(z, t))
    for r in range(21):
        one, its = z[r : r + 1], t[r : r + 1]
        alone = (head.mean(one), head.loss(one, its), head.slope(one, its), head.curvature(one, its))
        assert [a[r].tobytes() for a in whole] == [a[0].tobytes() for a in alone]


@pytest.mark.skipif(not WIDE, reason="NumPy's long double is no longer than a double here")
@pytest.mark.parametrize("size", [30.0, 400.0, 1000.0])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_far_out(case: HeadCase, size: float) -> None:
    """What the formulas give in numbers of a wider range, rounded: infinite where that is too large for a double."""
    head, plain, (_, t, plain_t) = case.head, plain_head(case.head), make(case, 8)
    signs = np.where(np.arange(8 * case.outputs).reshape(8, -1) % 3, 1.0, -1.0)
    z = size * (np.abs(signs) if head.family == "tweedie_identity" else signs)
    wide, wide_t = z.astype(np.longdouble), plain_t.astype(np.longdouble)
    actual = (head.mean(z), head.loss(z, t), head.slope(z, t), head.curvature(z, t, expected=True))
    with np.errstate(over="ignore", under="ignore"):
        mean = plain.mean(wide)
        total = wide_t.sum(axis=1, keepdims=True) if head.family == "categorical" else 1
        exact = (
            mean,
            plain.loss(wide, wide_t).sum(axis=1),
            plain.slope(wide, wide_t),
            plain.curvature(wide, mean) * total,
        )
        for one, other in zip(actual, exact, strict=True):
            np.testing.assert_allclose(one, other.astype(np.float64), rtol=1e-13, atol=2e-16 * (1 + plain_t.max()))


@pytest.mark.skipif(not WIDE, reason="NumPy's long double is no longer than a double here")
@pytest.mark.parametrize("alpha", [1e-10, 1e-3, 1.0, 50.0, 1e6])
def test_negative_binomial_keeps_its_digits_for_any_dispersion(alpha: float) -> None:
    """From nearly Poisson to far beyond it: loss, slope and both curvatures against numbers of a wider range."""
    head = NegativeBinomial(alpha)
    edge = -np.log(alpha)  # where the formulas change
    some = np.concatenate(
        [[-1000, -700, -30, -2, 0, 1, 5, 25, 700, 1000], edge + np.array([-20, -1, -1e-9, 0, 1e-9, 2])]
    )
    z, t = (a.reshape(-1, 1) for a in np.meshgrid(some, [0.0, 1.0, 7.0, 1e5]))
    with np.errstate(over="ignore", under="ignore"):
        wide, plain = z.astype(np.longdouble), NegativeBinomialHead(np.longdouble(alpha))  # type: ignore[arg-type]
        exact = (
            plain.loss(wide, t)[:, 0],
            plain.slope(wide, t),
            plain.curvature(wide, t),
            plain.curvature(wide, plain.mean(wide)),
        )
    actual = (head.loss(z, t), head.slope(z, t), head.curvature(z, t), head.curvature(z, t, expected=True))
    for one, other, scale in zip(
        actual, exact, (np.abs(t * z)[:, 0], np.minimum(t, 1 / alpha) + 0 * z, 0, 0), strict=True
    ):
        assert (np.abs(one - other) <= 2e-15 * (np.abs(other) + scale) + 1e-300).all()


def test_negative_binomial_tends_to_poisson() -> None:
    z, t = np.linspace(-20, 6, 53)[:, None], np.arange(53.0)[:, None] % 9
    head = NegativeBinomial(1e-10)
    for name in ("mean", "loss", "slope", "curvature"):
        given = (z,) if name == "mean" else (z, t)
        np.testing.assert_allclose(getattr(head, name)(*given), getattr(Poisson(), name)(*given), rtol=1e-6, atol=1e-13)


def test_log_probabilities_keep_their_digits() -> None:
    z = np.array([[0.0, 1000.0, -1000.0], [1e-3, 0, 0], [-40.0, 0, -41.0], [5e5, 5e5, 5e5 - 2], [700.0, 0, -700.0]])
    log_p = log_softmax(z)
    np.testing.assert_allclose(log_p, plain_log_softmax(z, axis=1), rtol=1e-14, atol=1e-15)
    assert log_p[0].tolist() == [-1000, 0, -2000]
    assert log_p[2, 1] == pytest.approx(-np.exp(-40) - np.exp(-41), rel=1e-14, abs=0)  # p itself is 1
    np.testing.assert_allclose(np.exp(log_p), Categorical().mean(z), rtol=1e-13)


def test_curvature_of_a_sure_class_keeps_its_digits() -> None:
    z, t = np.array([[50.0, 0.0, -1.0]]), np.array([0], np.int32)
    rest = np.exp(-50) + np.exp(-51)
    assert Categorical().curvature(z, t)[0, 0] == pytest.approx(rest, rel=1e-14, abs=0)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in ("normal", "laplace")])
def test_a_wrong_activation_is_refused_by_naming_the_right_one(family: str) -> None:
    with pytest.raises(ConfigError, match=rf"needs activation='{FAMILIES[family].default_activation}'"):
        FAMILIES[family].with_activation(Activation("relu"))


@pytest.mark.parametrize(
    ("former", "name"), [("any_unit", "location_scale"), ("wanted", "target_requirement"), ("fading", "decay_power")]
)
def test_former_names_of_heads_still_work(former: str, name: str) -> None:
    head = Poisson()
    with pytest.warns(DeprecationWarning, match=f"Poisson.{former} is now called {name}"):
        assert getattr(head, former) == getattr(head, name)
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        getattr(head, "no_such")  # noqa: B009
