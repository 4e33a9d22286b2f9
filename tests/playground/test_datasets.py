"""Data sets: the same for the same seed, of the declared task, with inputs that are functions of the plane."""

import numpy as np
import pytest

from linnet.errors import ConfigError, DataError
from linnet.playground.datasets import FEATURES, Dataset, components, make
from linnet.playground.state import DATA
from linnet.playground.state import FEATURES as NAMES

POINTS = [[-1, 0, 0], [-2, 1, 0], [3, 3, 4], [2, 2, 4]]
TOYS = [name for name in DATA if name not in ("drawn", "digits", "table")]


def made(name: str, **how: object) -> Dataset:
    return make(name, points=POINTS, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*TOYS, "drawn", "digits"])
def test_a_set_is_whole_and_the_same_every_time(name: str) -> None:
    data, again = made(name), made(name)
    assert np.array_equal(data.x, again.x)
    assert np.array_equal(data.y, again.y)
    assert data.x.dtype == np.float32
    assert len(data.x) == len(data.y) == len(data.points)
    assert data.x.shape[1] == len(data.inputs)
    assert np.isfinite(data.x).all()
    (left, right), (bottom, top) = data.ranges
    assert ((data.points >= (left, bottom)) & (data.points <= (right, top))).all()
    if data.classes:
        assert set(data.y.tolist()) == set(range(len(data.classes)))
        assert data.task == ("two classes" if len(data.classes) == 2 else "many classes")
    if data.task == "counts":
        assert (data.y >= 0).all()
        assert (data.y == np.rint(data.y)).all()


@pytest.mark.parametrize("name", TOYS)
def test_seed_and_noise_matter(name: str) -> None:
    assert not np.array_equal(made(name).x, made(name, seed=1).x)
    assert not np.array_equal(made(name).x, made(name, noise=0.5).x)


def test_features_are_functions_of_the_plane_by_their_names() -> None:
    assert tuple(FEATURES) == NAMES
    data = make("moons", features=NAMES)
    x1, x2 = data.points.T
    expected = np.stack([x1, x2, x1**2, x2**2, x1 * x2, np.sin(x1), np.sin(x2)], axis=1)
    assert np.allclose(data.x, expected, atol=1e-5)
    assert np.array_equal(data.plane(data.points), data.x)


@pytest.mark.parametrize("name", ["blobs", "pinwheels"])
@pytest.mark.parametrize("count", [2, 3, 6])
def test_classes_are_as_many_as_wanted(name: str, count: int) -> None:
    assert len(make(name, classes=count).classes) == count


def test_a_split_takes_every_row_once() -> None:
    data = make("circle")
    train, test = data.split(0.3, seed=5)
    assert sorted([*train, *test]) == list(range(len(data)))
    assert len(train) == 150
    assert not np.array_equal(train, data.split(0.3, seed=6)[0])
    few = make("drawn", points=POINTS)
    assert [len(part) for part in few.split(0.1, seed=0)] == [1, 3]


def test_drawn_classes_are_closed_up_and_must_be_two() -> None:
    assert make("drawn", points=POINTS).y.tolist() == [0, 0, 1, 1]
    with pytest.raises(DataError, match="at least two classes"):
        make("drawn", points=POINTS[:2])


def test_the_plane_of_components_holds_the_best_of_the_rows() -> None:
    data = make("digits")
    seen = data.plane(data.points)
    lost = ((data.x - seen) ** 2).sum()
    values = np.linalg.svd(data.x - data.x.mean(axis=0), compute_uv=False)
    assert lost == pytest.approx((values[2:] ** 2).sum(), rel=1e-4)
    one = np.linspace(0, 1, 20, dtype=np.float32)[:, None]
    points, _, plane = components(one)
    assert np.allclose(plane(points), one, atol=1e-6)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'spirals'"):
        make("spiral")
    with pytest.raises(ConfigError, match="unknown feature"):
        make("xor", features=["x3"])
