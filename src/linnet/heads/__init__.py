"""Heads: the distribution of the target, its activation and its loss in one object.

A head is written in terms of the last layer's linear output z, so that for every canonical pair the gradient of the
loss is "mean minus target" and nothing has to be clipped:

| head | mean as a function of z | loss per row, constants dropped | dloss/dz |
|---|---|---|---|
| normal | z | (z - t)² / 2 | z - t |
| laplace | z | abs(z - t) | sign(z - t) |
| huber | z | r² / 2 where abs(r) <= q, else q abs(r) - q² / 2 | r = z - t, clipped to ±q |
| quantile | z | max((1 - q) r, -q r), r = z - t | 1 - q above t, -q below |
| bernoulli | 1 / (1 + e^-z) | log(1 + e^z) - t z | mean - t |
| categorical | softmax(z) | logsumexp(z) - z_t | mean - onehot(t) |
| poisson | e^z | e^z - t z | mean - t |
| gamma | e^z | t e^-z + z | 1 - t / mean |
| negative_binomial | e^z | (t + 1/q) log(1 + q e^z) - t z | (mean - t) / (1 + q mean) |
| tweedie | e^z | mean^(2-q) / (2-q) - t mean^(1-q) / (1-q) | mean^(1-q) (mean - t) |
| tweedie_identity | z > 0 | mean^(2-q) / (2-q) - t mean^(1-q) / (1-q) | mean^-q (mean - t) |
| perceptron | sign(z) | max(0, -t z), t = ±1 | -t where t z <= 0 |
| custom | z | a function of z and t | returned by the function |

Tweedie distributions have a variance proportional to mean^q: q = 0 is the normal, 1 the Poisson, 2 the gamma and 3 the
inverse Gaussian distribution; between 1 and 2 it is the sum of a Poisson number of gamma variables. The negative
binomial has the variance mean + q mean². The loss of the quantile head is smallest at the quantile q of the target: for
q = 1/2, the median.

The loss of a row is the sum over its outputs. Squared and absolute error (normal, laplace) work with any other
activation a, too: the mean is then a(z), and the gradient includes the derivative of a. The formulas are computed in
core/heads/formulas.hpp.

All facts of a distribution are in its class: valid targets, the start of a fit, deviance and likelihood, intervals and
draws, and its names and formulas in tables, reports and the playground. To add a head: a file here, its name in this
file, and in the core a struct in core/heads/formulas.hpp and a line in core/heads/families.def.
"""

from linnet.heads.base import Floats as Floats
from linnet.heads.base import Head, weighted_sum
from linnet.heads.base import LossFunction as LossFunction
from linnet.heads.base import Targets as Targets
from linnet.heads.bernoulli import Bernoulli
from linnet.heads.categorical import Categorical, draw_class, log_softmax
from linnet.heads.custom import Custom
from linnet.heads.gamma import Gamma
from linnet.heads.negative_binomial import NegativeBinomial
from linnet.heads.normal import Normal
from linnet.heads.perceptron import Perceptron
from linnet.heads.poisson import Poisson
from linnet.heads.registry import HEADS, count_heads, head_named, heads_by_loss, losses_with
from linnet.heads.robust import Huber, Laplace, Quantile
from linnet.heads.tweedie import Tweedie, TweedieIdentity, TweedieLog

__all__ = [
    "HEADS",
    "Bernoulli",
    "Categorical",
    "Custom",
    "Gamma",
    "Head",
    "Huber",
    "Laplace",
    "NegativeBinomial",
    "Normal",
    "Perceptron",
    "Poisson",
    "Quantile",
    "Tweedie",
    "TweedieIdentity",
    "TweedieLog",
    "count_heads",
    "draw_class",
    "head_named",
    "heads_by_loss",
    "log_softmax",
    "losses_with",
    "weighted_sum",
]
