"""A network with one hidden layer, every step written out. Read this first; mlp.py has any number of layers.

    z_h = x W_h + b_h        h = tanh(z_h)        z = h W_y + b_y        p = softmax(z)        E = -(1/N) sum log p_t

Backwards, each line of the forward pass by the chain rule, from the last to the first:

    dE/dz   = (p - 1_t) / N          softmax and cross-entropy together
    dE/dW_y = h' dE/dz               dE/db_y = sum over rows of dE/dz
    dE/dh   = dE/dz W_y'
    dE/dz_h = dE/dh (1 - h^2)        the slope of tanh
    dE/dW_h = x' dE/dz_h             dE/db_h = sum over rows of dE/dz_h
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Weights = list[Array]  # W_h, b_h, W_y, b_y


def start(D: int, H: int, K: int, rng: np.random.Generator) -> Weights:
    """Return random weights, uniform within +-1/sqrt(inputs), as equal units would stay equal; biases are 0."""
    W_h = rng.uniform(-1, 1, (D, H)) / np.sqrt(D)
    W_y = rng.uniform(-1, 1, (H, K)) / np.sqrt(H)
    return [W_h, np.zeros(H), W_y, np.zeros(K)]


def forward(weights: Weights, x: Array) -> tuple[Array, Array]:
    """Return the hidden units h and the class probabilities p."""
    W_h, b_h, W_y, b_y = weights
    h = np.tanh(x @ W_h + b_h)
    z = h @ W_y + b_y
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return h, e / e.sum(axis=1, keepdims=True)


def loss(weights: Weights, x: Array, t: Array) -> float:
    """Return the mean cross-entropy; t has the index of each row's class."""
    _, p = forward(weights, x)
    return float(-np.log(p[np.arange(len(t)), t]).mean())


def backward(weights: Weights, x: Array, t: Array) -> Weights:
    """Return dE/dW_h, dE/db_h, dE/dW_y and dE/db_y."""
    _, _, W_y, _ = weights
    h, p = forward(weights, x)
    dz = p.copy()
    dz[np.arange(len(t)), t] -= 1
    dz /= len(x)
    dh = dz @ W_y.T
    dz_h = dh * (1 - h**2)
    return [x.T @ dz_h, dz_h.sum(axis=0), h.T @ dz, dz.sum(axis=0)]


def train(
    x: Array, t: Array, H: int, K: int, *, eta: float = 0.1, batch_size: int = 32, epochs: int = 20, seed: int = 0
) -> tuple[Weights, list[float]]:
    """Train by stochastic gradient descent. Return the weights and the loss after each epoch."""
    rng = np.random.default_rng(seed)
    weights, history = start(x.shape[1], H, K, rng), []
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for first in range(0, len(x), batch_size):
            rows = order[first : first + batch_size]
            slopes = backward(weights, x[rows], t[rows])
            weights = [w - eta * dw for w, dw in zip(weights, slopes, strict=True)]
        history.append(loss(weights, x, t))
    return weights, history
