"""The algorithms of a first course, each as a short and complete NumPy program in the letters of the lecture.

x are the inputs (rows x D), t the targets, W and b weights and biases, z = x W + b, y the prediction, E the loss, delta
its slope dE/dz, eta the learning rate. Only NumPy and the standard library are used. The engine is held against these
programs, to rounding, by the tests.

| file | program |
|---|---|
| linear_regression | least squares: closed form; batch, minibatch and stochastic gradient descent |
| perceptron | Rosenblatt's rule: learn from mistakes |
| logistic_regression | two classes, by minibatches with early stopping |
| softmax_regression | K classes, by minibatches with early stopping; also one random row at a time |
| poisson_regression | counts |
| heads | the four classic distributions: mean, loss, slope "mean minus target", curvature |
| power_variance | gamma, Tweedie, negative binomial |
| robust | absolute error, Huber's, quantiles, the perceptron's loss |
| glm | one program for all heads |
| likelihood | the likelihoods behind the losses, and the losses as bounds on the number of mistakes |
| newton | Newton's method, iteratively reweighted least squares |
| activations | twelve activations and their slopes |
| initialisation | initial weights |
| one_hidden_layer | a network with one hidden layer, every step written out |
| mlp | the multilayer perceptron of any depth: forward, backward, dropout, penalties, training |
| optimizers | SGD, momentum, Nesterov, Adagrad, RMSprop, Adam, AMSGrad, AdamW |
| numeric_gradient | the gradient by finite differences, as a check |
| graph | reverse-mode differentiation of a graph of operations |
| one_vs_rest, one_vs_one, output_code, label_tree | many classes from binary classifiers |
| confusion | confusion matrix, precision, recall, F-beta, micro and macro |
| threshold | precision-recall curve, its area, the best threshold |
| lagrange | optima under constraints |
| maximum_entropy | the distribution of largest entropy with given moments, by its dual; softmax derived from it |
| approximation | networks constructed to approximate a function |
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if not TYPE_CHECKING:  # a type checker would take it to mean that any name exists

    def __getattr__(name: str) -> object:
        """Load a program on first use, as in linnet.plain.mlp."""
        if (Path(__file__).parent / f"{name}.py").exists():
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
