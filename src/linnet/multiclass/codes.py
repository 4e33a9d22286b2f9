"""Code matrices: a row a class, a column a binary problem; +1: yes, -1: no, 0: rows of the class are left out.

With rows a distance d apart (`row_distance`), fewer than d / 2 wrong answers of the problems that saw the right class
leave its row the nearest, whatever those that never saw it say.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError

Codes = NDArray[np.int8]

_MOST_EXHAUSTIVE = 12  # classes: 2047 columns
_DRAW_COST = 3e9  # products of two entries that are spent on draws: about a second
_POLYNOMIALS = {  # primitive ones over two elements, by degree; bit i is the coefficient of x^i
    2: 0b111, 3: 0b1011, 4: 0b10011, 5: 0b100101, 6: 0b1000011, 7: 0b10001001, 8: 0b100011101,
    9: 0b1000010001, 10: 0b10000001001, 11: 0b100000000101, 12: 0b1000001010011,
}  # fmt: skip


def row_distance(codes: Codes) -> float:
    """The smallest distance between two rows: d - |n - m| / 2, or 0 if that is less.

    d places have a yes in one row and a no in the other; the rows have n and m zeros. Without zeros that is the number
    of places where they differ. A problem that never saw a class may say anything of it, at worst the other row's
    letter, which brings that row half a place nearer than the 0, which counts half, leaves its own.
    """
    return max(_signed_distance(codes), 0.0)


def _signed_distance(codes: Codes) -> float:
    """The same, below 0 where rows with many zeros are further from being told apart."""
    if len(codes) < 2:
        return float(codes.shape[1])
    numbers = codes.astype(np.float32)  # whole ones, far below where they would be rounded
    products, both = np.einsum("ik,jk->ij", numbers, numbers), np.float32(codes.shape[1])  # no BLAS wakes its threads
    if not codes.all():
        there = np.abs(numbers)
        zeros = codes.shape[1] - there.sum(axis=1)
        both = np.einsum("ik,jk->ij", there, there) - np.abs(zeros[:, None] - zeros)
    distances = (both - products) / 2
    np.fill_diagonal(distances, np.inf)
    return float(distances.min())


def check_codes(given: Any, classes: int) -> Codes:
    """Return a user's matrix, or raise a ConfigError that says what is wrong with it."""
    try:
        matrix = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != classes or not np.isin(matrix, (-1, 0, 1)).all():
        raise ConfigError(f"code must have a row for each of the {classes} classes, of -1, 0 and 1, got {given!r}")
    codes = matrix.astype(np.int8)
    for column in range(codes.shape[1]):
        if not ((codes[:, column] > 0).any() and (codes[:, column] < 0).any()):
            raise ConfigError(f"column {column} of code has not both -1 (no) and 1 (yes): it asks nothing")
    _, place, times = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    if (times > 1).any():
        a, b = np.flatnonzero(place.ravel() == np.flatnonzero(times > 1)[0])[:2]
        raise ConfigError(f"rows {a} and {b} of code are equal: the classes could not be told apart")
    return codes


def exhaustive(classes: int) -> Codes:
    """All 2^(K-1) - 1 ways to part the classes: rows are 2^(K-2) places apart."""
    if classes > _MOST_EXHAUSTIVE:
        raise ConfigError(
            f"code='exhaustive' has {2 ** (classes - 1) - 1} columns for {classes} classes: choose 'dense' or 'bch'"
        )
    numbers = np.arange(2 ** (classes - 1) - 1)
    bits = (numbers[None] >> np.arange(classes)[:, None]) & 1
    bits[-1] = 1
    return (2 * bits - 1).astype(np.int8)


def dense(classes: int, columns: int, rng: np.random.RandomState, draws: int) -> Codes:
    """Entries of -1 and +1, each as likely."""
    columns = min(columns, 2 ** min(classes - 1, 40) - 1)

    def draw() -> Codes:
        codes = rng.choice(np.array([-1, 1], np.int8), (classes, columns))
        return _parting(codes, rng, np.array([-1, 1], np.int8))

    return _best(draw, classes, columns, draws)


def sparse(classes: int, columns: int, rng: np.random.RandomState, draws: int) -> Codes:
    """Entries of 0 with probability 1/2, of -1 and of +1 with 1/4."""

    def draw() -> Codes:
        codes = rng.choice(np.array([0, 0, -1, 1], np.int8), (classes, columns))
        return _parting(codes, rng, np.array([0, 0, -1, 1], np.int8))

    return _best(draw, classes, columns, draws)


def bch(classes: int, columns: int, rng: np.random.RandomState, draws: int) -> Codes:
    """Words of a Bose-Chaudhuri-Hocquenghem code of the least length 2^m - 1 that has `columns` places.

    Of those codes the one whose words lie furthest apart and that has a word for every class; which words, is drawn.
    """
    degree = 2
    while degree < max(_POLYNOMIALS) and (2**degree - 1 < columns or _largest_generator(degree, classes) is None):
        degree += 1
    generator = _largest_generator(degree, classes)
    assert generator is not None
    length = 2**degree - 1
    bits = length - (generator.bit_length() - 1)  # of a message
    base = np.array([[(generator << i) >> place & 1 for place in range(length)] for i in range(bits)], np.int64)

    def draw() -> Codes:
        if bits <= 16:
            numbers = rng.choice(2**bits, classes, replace=False)
            messages = (numbers[:, None] >> np.arange(bits)) & 1
        else:
            messages = rng.randint(0, 2, (classes, bits))
        words = messages @ base % 2
        codes = (2 * words - 1).astype(np.int8)
        return codes[:, np.abs(codes.sum(axis=0, dtype=np.int64)) < classes]

    return _best(draw, classes, length, draws)


def _largest_generator(degree: int, classes: int) -> int | None:
    """The generator polynomial of the BCH code with the largest designed distance that has a word for every class."""
    length = 2**degree - 1
    powers = [1]
    for _ in range(length - 1):
        grown = powers[-1] << 1
        powers.append(grown ^ _POLYNOMIALS[degree] if grown >> degree else grown)
    logarithm = {value: index for index, value in enumerate(powers)}
    found, generator, used = None, 1, set[int]()
    for root in range(1, length, 2):
        if root in used:
            continue
        orbit = {root * 2**i % length for i in range(degree)}
        used |= orbit
        minimal = [1]  # the product of x - a^j over the orbit, with coefficients in the field, lowest first
        for j in sorted(orbit):
            shifted = [0, *minimal]
            scaled = [powers[(logarithm[c] + j) % length] if c else 0 for c in minimal] + [0]
            minimal = [a ^ b for a, b in zip(shifted, scaled, strict=True)]
        factor = sum(1 << i for i, c in enumerate(minimal) if c)  # its coefficients are 0 and 1
        generator = _times(generator, factor)
        bits = length - (generator.bit_length() - 1)
        if bits < 1 or 2**bits < classes:
            break
        found = generator
    return found


def _times(a: int, b: int) -> int:
    """The product of two polynomials over two elements."""
    total, shift = 0, 0
    while b >> shift:
        if b >> shift & 1:
            total ^= a << shift
        shift += 1
    return total


def _parting(codes: Codes, rng: np.random.RandomState, entries: Codes) -> Codes:
    """The same, with new columns in place of those that do not part the classes."""
    while True:
        wrong = np.flatnonzero(~((codes > 0).any(axis=0) & (codes < 0).any(axis=0)))
        if not len(wrong):
            return codes
        codes[:, wrong] = rng.choice(entries, (len(codes), len(wrong)))


def _distinct(rows: Codes) -> int:
    """How many different rows there are."""
    return len({row.tobytes() for row in rows})


def _best(draw: Callable[[], Codes], classes: int, columns: int, draws: int) -> Codes:
    """Of some draws the one whose rows are furthest apart and, of those, whose columns repeat each other least.

    Of `draws` as many as `_DRAW_COST` allows: 100 up to 270 classes with 1.5 times as many columns, 2 for 1,000.
    """
    draws = max(1, min(draws, int(_DRAW_COST / (float(classes) ** 2 * columns))))
    best: tuple[tuple[float, int], Codes] | None = None
    tried = 0
    while tried < draws or best is None:
        tried += 1
        codes = draw()
        distance = _signed_distance(codes)
        if _distinct(codes) < classes:
            if tried > draws + 10_000:
                raise ConfigError(f"{columns} columns do not tell {classes} classes apart by chance: raise code_size")
            continue
        if best is not None and distance < best[0][0]:
            continue
        turned = np.where(codes[0] < 0, -codes, codes)
        rank = (distance, _distinct(turned.T))
        if best is None or rank > best[0]:
            best = rank, codes
    return best[1]
