"""Text as numbers: words and their parts, hashed into a fixed number of columns.

A row's text is split into words; each word w counts for the bin of w, and of every run of 2 to 4 characters of <w>. The
sign of a count is hashed, too, so that words that share a bin cancel on average. Counts c become sign(c) log(1 + |c|),
and a row has length 1. Nothing is learned, so nothing is stored.
"""

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse
from numpy.typing import NDArray

_MAX_WORD_CHARACTERS = 24  # characters of a word that are looked at


def hashed_ngrams(column: pa.ChunkedArray, bins: int) -> NDArray[np.float32]:
    """Bins x rows; zeros where the text is missing."""
    if len(column) == 0:
        return np.zeros((bins, 0), np.float32)
    text = pc.fill_null(column, "").combine_chunks()
    words = pc.split_pattern_regex(pc.utf8_trim(pc.utf8_lower(text), " "), r"[^\p{L}\p{N}]+")
    flat = words.flatten().dictionary_encode()
    starts = np.concatenate([[0], np.cumsum(pc.list_value_length(words).to_numpy())])
    codes = flat.indices.to_numpy()
    vocabulary = flat.dictionary.to_pylist()
    by_row = scipy.sparse.csr_array((np.ones(len(codes)), codes, starts), shape=(len(text), len(vocabulary)))
    counts = by_row @ _bins_of(vocabulary, bins)
    counts.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
    length = np.sqrt(counts.multiply(counts).sum(axis=1))
    counts.data /= np.repeat(np.where(length > 0, length, 1), np.diff(counts.indptr))
    return counts.T.astype(np.float32).toarray()


def _bins_of(vocabulary: list[str], bins: int) -> "scipy.sparse.csr_array[np.float64]":
    """For each word, where its parts count."""
    starts, places, signs = [0], [], []
    for word in vocabulary:
        if word:
            inner = f"<{word[:_MAX_WORD_CHARACTERS]}>"
            parts = [inner[start : start + size] for size in (2, 3, 4) for start in range(len(inner) - size + 1)]
            hashes = [zlib.crc32(part.encode()) for part in (f"={word}", *parts)]
            places += [value % bins for value in hashes]
            # the whole word counts as much as all its parts
            weights = [1.0, *[len(parts) ** -0.5] * len(parts)]
            signs += [weight if value & (1 << 31) else -weight for value, weight in zip(hashes, weights, strict=True)]
        starts.append(len(places))
    matrix = scipy.sparse.csr_array((signs, places, starts), shape=(len(vocabulary), bins))
    matrix.sum_duplicates()
    return matrix
