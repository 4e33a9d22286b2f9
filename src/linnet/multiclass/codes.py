"""Code matrices: one row per class, one column per binary problem.

An entry of +1 makes the rows of the class positive, -1 negative, 0 leaves them out. If all codewords, the rows of the
matrix, are at least a distance d apart (`row_distance`), the codeword of the actual class remains the nearest if fewer
than d / 2 of the problems trained on that class predict a wrong bit, whatever the other problems predict.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError

Codes = NDArray[np.int8]

_MAX_EXHAUSTIVE_CLASSES = 12  # 2047 columns
_MAX_DRAW_PRODUCTS = 3e9  # products of two entries, over all drawn matrices: about a second
_MIN_DRAW_PRODUCTS = 3e5  # products that take as long as the overhead of a draw
_POLYNOMIALS = {  # primitive polynomials over GF(2), by degree; bit i is the coefficient of x^i
    2: 0b111, 3: 0b1011, 4: 0b10011, 5: 0b100101, 6: 0b1000011, 7: 0b10001001, 8: 0b100011101,
    9: 0b1000010001, 10: 0b10000001001, 11: 0b100000000101, 12: 0b1000001010011,
}  # fmt: skip


def row_distance(codes: Codes) -> float:
    """Return the smallest distance between two codewords: max(0, d - |n - m| / 2).

    d is the number of columns with +1 in one row and -1 in the other, n and m are the numbers of zeros in the two rows.
    Without zeros that is the Hamming distance. With zeros, a classifier that was not trained on a class may predict
    either bit for it; in the worst case that of the other codeword, which then gains half a bit, as a 0 counts half.
    """
    return max(_signed_distance(codes), 0.0)


def _signed_distance(codes: Codes) -> float:
    """Return d - |n - m| / 2 as in `row_distance`, without its lower bound of 0, so that poor codes can be ranked."""
    if len(codes) < 2:
        return float(codes.shape[1])
    entries = codes.astype(np.float32)  # sums of these small integers are exact
    products, both = (
        np.einsum("ik,jk->ij", entries, entries),
        np.float32(codes.shape[1]),
    )  # einsum starts no BLAS threads
    if not codes.all():
        nonzero = np.abs(entries)
        zeros = codes.shape[1] - nonzero.sum(axis=1)
        both = np.einsum("ik,jk->ij", nonzero, nonzero) - np.abs(zeros[:, None] - zeros)
    distances = (both - products) / 2
    np.fill_diagonal(distances, np.inf)
    return float(distances.min())


def check_codes(code: Any, classes: int) -> Codes:
    """Return a user's code matrix as int8; raise a ConfigError if it cannot separate the classes."""
    try:
        matrix = np.asarray(code, np.float64)
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != classes or not np.isin(matrix, (-1, 0, 1)).all():
        raise ConfigError(f"code must be a matrix of -1, 0 and 1 with {classes} rows, one per class, got {code!r}")
    codes = matrix.astype(np.int8)
    for column in range(codes.shape[1]):
        if not ((codes[:, column] > 0).any() and (codes[:, column] < 0).any()):
            raise ConfigError(f"column {column} of code must contain both -1 and 1, or it separates no classes")
    _, group, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    if (counts > 1).any():
        a, b = np.flatnonzero(group.ravel() == np.flatnonzero(counts > 1)[0])[:2]
        raise ConfigError(f"rows {a} and {b} of code are equal: their classes could not be distinguished")
    return codes


def exhaustive(classes: int) -> Codes:
    """Return all 2^(K-1) - 1 ways to split K classes in two; codewords differ in 2^(K-2) bits."""
    if classes > _MAX_EXHAUSTIVE_CLASSES:
        raise ConfigError(
            f"code='exhaustive' has {2 ** (classes - 1) - 1} columns for {classes} classes: choose 'dense' or 'bch'"
        )
    splits = np.arange(2 ** (classes - 1) - 1)
    bits = (splits[None] >> np.arange(classes)[:, None]) & 1
    bits[-1] = 1
    return (2 * bits - 1).astype(np.int8)


def dense(classes: int, columns: int, rng: np.random.RandomState, draws: int) -> Codes:
    """Draw entries of -1 and +1 with equal probability."""
    columns = min(columns, 2 ** min(classes - 1, 40) - 1)

    def draw() -> Codes:
        codes = rng.choice(np.array([-1, 1], np.int8), (classes, columns))
        return _redraw_constant_columns(codes, rng, np.array([-1, 1], np.int8))

    return _best(draw, classes, columns, draws)


def sparse(classes: int, columns: int, rng: np.random.RandomState, draws: int) -> Codes:
    """Draw entries of 0 with probability 1/2, of -1 and of +1 with probability 1/4 each."""

    def draw() -> Codes:
        codes = rng.choice(np.array([0, 0, -1, 1], np.int8), (classes, columns))
        return _redraw_constant_columns(codes, rng, np.array([0, 0, -1, 1], np.int8))

    return _best(draw, classes, columns, draws)


def bch(classes: int, columns: int, rng: np.random.RandomState, draws: int) -> Codes:
    """Draw codewords of a Bose-Chaudhuri-Hocquenghem code of the smallest length 2^m - 1 that is at least `columns`.

    Of the codes of that length with a codeword for every class, it is the one with the largest designed distance.
    """
    degree = 2
    while degree < max(_POLYNOMIALS) and (2**degree - 1 < columns or _largest_generator(degree, classes) is None):
        degree += 1
    generator = _largest_generator(degree, classes)
    assert generator is not None
    length = 2**degree - 1
    bits = length - (generator.bit_length() - 1)  # per message
    generator_matrix = np.array([[(generator << i) >> j & 1 for j in range(length)] for i in range(bits)], np.int64)

    def draw() -> Codes:
        if bits <= 16:
            indices = rng.choice(2**bits, classes, replace=False)
            messages = (indices[:, None] >> np.arange(bits)) & 1
        else:
            messages = rng.randint(0, 2, (classes, bits))
        codewords = messages @ generator_matrix % 2
        codes = (2 * codewords - 1).astype(np.int8)
        return codes[:, np.abs(codes.sum(axis=0, dtype=np.int64)) < classes]

    return _best(draw, classes, length, draws)


def _largest_generator(degree: int, classes: int) -> int | None:
    """Return the generator of the BCH code with the largest designed distance among those with a codeword for every
    class.
    """
    length = 2**degree - 1
    powers = [1]
    for _ in range(length - 1):
        doubled = powers[-1] << 1
        powers.append(doubled ^ _POLYNOMIALS[degree] if doubled >> degree else doubled)
    logarithm = {value: index for index, value in enumerate(powers)}
    largest, generator, used = None, 1, set[int]()
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
        generator = _polynomial_product(generator, factor)
        bits = length - (generator.bit_length() - 1)
        if bits < 1 or 2**bits < classes:
            break
        largest = generator
    return largest


def _polynomial_product(a: int, b: int) -> int:
    """Return the product of two polynomials over GF(2)."""
    total, shift = 0, 0
    while b >> shift:
        if b >> shift & 1:
            total ^= a << shift
        shift += 1
    return total


def _redraw_constant_columns(codes: Codes, rng: np.random.RandomState, entries: Codes) -> Codes:
    """Redraw the columns of `codes` without both -1 and +1, in place, until there are none."""
    while True:
        constant = np.flatnonzero(~((codes > 0).any(axis=0) & (codes < 0).any(axis=0)))
        if not len(constant):
            return codes
        codes[:, constant] = rng.choice(entries, (len(codes), len(constant)))


def _distinct(rows: Codes) -> int:
    """Return the number of distinct rows."""
    return len({row.tobytes() for row in rows})


def _best(draw: Callable[[], Codes], classes: int, columns: int, draws: int) -> Codes:
    """Return the drawn matrix whose rows are furthest apart; among equals, the one with the most distinct columns.

    At most `draws` matrices are drawn, and no more than `_MAX_DRAW_PRODUCTS` allows: 10,000 for few classes,
    with 1.5 columns per class 100 up to 270 classes and 2 for 1,000 classes.
    """
    draws = max(1, min(draws, int(_MAX_DRAW_PRODUCTS / max(float(classes) ** 2 * columns, _MIN_DRAW_PRODUCTS))))
    best: tuple[tuple[float, int], Codes] | None = None
    tried = 0
    while tried < draws or best is None:
        tried += 1
        codes = draw()
        distance = _signed_distance(codes)
        if _distinct(codes) < classes:
            if tried > draws + 10_000:
                raise ConfigError(
                    f"no drawn matrix of {columns} columns has distinct rows for {classes} classes: increase code_size"
                )
            continue
        if best is not None and distance < best[0][0]:
            continue
        up_to_sign = np.where(codes[0] < 0, -codes, codes)  # a column and its negative are the same problem
        rank = (distance, _distinct(up_to_sign.T))
        if best is None or rank > best[0]:
            best = rank, codes
    return best[1]
