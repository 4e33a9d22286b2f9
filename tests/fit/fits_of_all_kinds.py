"""Fits of every kind, a line each with the digest of its bytes: run by test_blas.py under several BLAS kernels.

No number here comes from a BLAS: targets are made of sums.
"""

import hashlib
import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.special import expit

import linnet
from linnet import evaluate, multiclass

RNG = np.random.default_rng(0)
N = 250
X = RNG.normal(size=(N, 9)) + 3 * RNG.normal(size=9)
ETA = 0.15 * ((X - X.mean(axis=0)) * RNG.normal(size=9)).sum(axis=1)
YEAR = RNG.integers(1990, 2020, N).astype(float)
WEIGHTS, OFFSET = RNG.random(N) + 0.1, 0.1 * RNG.normal(size=N)
REAL, COUNTS = ETA + RNG.normal(size=N), RNG.poisson(np.exp(ETA)).astype(float)
AMOUNTS = RNG.gamma(2, np.exp(0.2 * ETA))
YES = (ETA + RNG.logistic(size=N) > 0).astype(int)
CLASSES = (np.column_stack([ETA, -ETA, 0 * ETA, 0.5 * ETA]) + RNG.gumbel(size=(N, 4))).argmax(axis=1)
TABLES: dict[str, Any] = {
    "dense": X,
    "float32": X.astype(np.float32),
    "sparse": scipy.sparse.csr_array(X * (RNG.random(X.shape) < 0.5)),
    "frame": pd.DataFrame(X, columns=list("abcdefghi")).assign(level=np.array(list("xyz"))[CLASSES % 3]),
    "dependent": np.column_stack([X, X[:, 0], X[:, 1] - X[:, 2], YEAR, YEAR**2, YEAR**3]),
    "wide": RNG.normal(size=(N, 300)),
}
L = linnet
MODELS: dict[str, tuple[Any, Any]] = {
    "least squares": (L.LinearRegression(), REAL),
    "ridge": (L.Ridge(alpha=[0.1, 1.0]), np.column_stack([REAL, AMOUNTS])),
    "ridge by L-BFGS": (L.Ridge(solver="lbfgs"), REAL),
    "not negative": (L.Ridge(positive=True), REAL),
    "logistic": (L.LogisticRegression(), YES),
    "l1": (L.LogisticRegression(l1_ratio=1.0, C=0.2), YES),
    "softmax": (L.LogisticRegression(), CLASSES),
    "softmax by L-BFGS": (L.LogisticRegression(solver="lbfgs"), CLASSES),
    "elastic net": (L.LogisticRegression(l1_ratio=0.5, C=0.1), CLASSES),
    "poisson": (L.PoissonRegressor(alpha=0.01), COUNTS),
    "gamma": (L.GammaRegressor(alpha=0.01), AMOUNTS),
    "negative binomial": (L.NegativeBinomialRegressor(alpha=0.01, dispersion=0.5), np.round(AMOUNTS)),
    "tweedie": (L.TweedieRegressor(power=1.5, alpha=0.1), AMOUNTS),
    "identity": (L.TweedieRegressor(power=1.5, link="identity", alpha=0.1), AMOUNTS),
}
NETWORKS: dict[str, tuple[Any, Any]] = {
    "perceptron": (L.Perceptron(random_state=0), YES),
    "network": (L.MLPClassifier(hidden_layer_sizes=(6,), max_iter=3, random_state=0, early_stopping=True), CLASSES),
    "network by L-BFGS": (L.MLPRegressor(hidden_layer_sizes=(6,), max_iter=8, random_state=0, solver="lbfgs"), REAL),
    "one-vs-rest": (multiclass.OneVsRestClassifier(L.LogisticRegression()), CLASSES),
    "one-vs-one": (multiclass.OneVsOneClassifier(L.LogisticRegression()), CLASSES),
    "output code": (multiclass.OutputCodeClassifier(L.LogisticRegression(), random_state=0), CLASSES),
}


def show(name: str, *parts: Any) -> None:
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))
    sys.stdout.write(f"{name} {digest.hexdigest()[:16]}\n")


def predictions(model: Any, table: Any) -> Any:
    return (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(table)


def main() -> None:
    warnings.simplefilter("ignore")
    for kind, table in TABLES.items():
        for name, (model, y) in MODELS.items():
            for weights in (None, WEIGHTS):
                model.fit(table, y, weights)
                show(f"{name}, {kind}, {weights is not None}", model.coef_, model.intercept_, predictions(model, table))
    for name, (model, y) in NETWORKS.items():
        show(name, predictions(model.fit(X, y), X))
    free = L.PoissonRegressor(alpha=0).fit(X, COUNTS, WEIGHTS, offset=OFFSET)
    show("offset", free.coef_, free.intercept_, free.predict(X, offset=OFFSET))
    for name in ("least squares", "softmax"):
        model, y = MODELS[name]
        found = model.fit(TABLES["dependent"], y).inference(TABLES["dependent"], y)
        show(f"inference of {name}", found.standard_error, found.covariance, found.deviance)
        for kind, groups in (("HC2", None), ("HC3", None), ("cluster", CLASSES)):
            found = model.fit(X, y).inference(X, y, covariance=kind, groups=groups)
            show(f"{kind} of {name}", found.standard_error, found.covariance)
        show(f"model file of {name}", np.frombuffer(pickle.dumps(model), np.uint8))
    labels, guesses = np.column_stack([YES, COUNTS > 1, CLASSES > 1]).astype(int), np.column_stack([YES] * 3)
    show("labels", *evaluate.precision_recall_fscore_support(labels, guesses, average=None, sample_weight=WEIGHTS))
    show("loss", evaluate.log_loss(YES, expit(ETA), normalize=False, sample_weight=WEIGHTS))


if __name__ == "__main__":
    main()
