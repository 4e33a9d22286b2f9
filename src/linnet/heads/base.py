"""The base class of heads: the distribution of the target, the activation that computes its mean, and the loss."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.checks import check_number
from linnet.errors import ConfigError, FormatError, warn
from linnet.heads.activations import Activation, as_activation
from linnet.heads.registry import HEADS
from linnet.registry import saved

Floats = NDArray[np.float64]
Targets = NDArray[Any]  # labels, one per row, or values, rows x outputs
LossFunction = Callable[[Floats, Floats], tuple[Floats, Floats]]
_FORMER_NAMES = {
    "any_unit": "location_scale",
    "cut": "threshold",
    "fading": "decay_power",
    "for_ever": "recession_directions",
    "in_unit": "standardised",
    "least_loss": "saturated_loss",
    "left_out": "dropped_terms",
    "only_yes_no": "is_binary",
    "own_activation": "default_activation",
    "own_parameters": "estimated_parameters",
    "straight_in_target": "linear_in_target",
    "usual_slope": "typical_slope",
    "wanted": "target_requirement",
}


@saved
@dataclass(frozen=True)
class Head:
    """The distribution of the target, and the activation that computes its mean from z, the last layer's linear output.

    Methods take z (rows x outputs), or the output of the activation if it is not the default one. The loss of a row is
    the sum over its outputs, with constants dropped.
    """

    # ---- names ----
    family: ClassVar[str]  # in the core and in files
    default_activation: ClassVar[str] = "identity"
    loss_name: ClassVar[str]  # in messages
    losses: ClassVar[tuple[str, ...]] = ()  # names of the loss in regressors
    keras_losses: ClassVar[tuple[str, ...]] = ()  # names of the loss in Sequential
    label_losses: ClassVar[tuple[str, ...]] = ()  # the subset of keras_losses whose targets are class indices
    table_loss: ClassVar[str] = ""  # the one of keras_losses that networks for tables offer; for counts, the first
    default_metric: ClassVar[str] = "loss"  # the metric that early stopping of a regressor watches by default
    title: ClassVar[str] = ""  # the name of the distribution in text
    formulas: ClassVar[tuple[str, str]] = ("", "")  # as text: Keras' loss of one output, and its slope dloss/dz
    parameter_symbol: ClassVar[str] = ""  # in these formulas, the symbol of the estimated parameter, if there is one

    # ---- properties of the loss ----
    quadratic: ClassVar[bool] = False  # the second derivatives do not depend on z
    coupled: ClassVar[bool] = False  # the outputs of a row are the classes of one distribution
    nonnegative: ClassVar[bool] = False  # the loss is never below 0
    positive_mean: ClassVar[bool] = False  # z is the mean and must be above 0
    log_link: ClassVar[bool] = False  # the mean is e^z
    loss_is_deviance: ClassVar[bool] = False  # the loss is half the deviance: 0 where the mean equals the target
    linear_in_target: ClassVar[bool] = False  # for fixed z, the loss is a linear function of the target

    # ---- properties of the target ----
    classifies: ClassVar[bool] = False  # targets are classes or binary labels
    has_probabilities: ClassVar[bool] = False  # the mean is a probability
    threshold: ClassVar[float] = 0.5  # means above it predict the positive class
    is_binary: ClassVar[bool] = False  # targets are two classes, or binary labels
    counts: ClassVar[bool] = False  # targets are numbers of events: tables and the playground offer the head for counts
    location_scale: ClassVar[bool] = False  # targets may be shifted and scaled: `standardised` returns the head
    target_requirement: ClassVar[str] = ""  # the condition for valid targets, for messages

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in _FORMER_NAMES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warn(f"{type(self).__name__}.{name} is now called {_FORMER_NAMES[name]}", DeprecationWarning)
            return getattr(self, _FORMER_NAMES[name])

    @property
    def parameter(self) -> float:
        """The parameter of the distribution in the core's formulas; 0 if it has none."""
        return 0.0

    @property
    def function(self) -> LossFunction | None:
        """The loss function of a custom head; None for all others."""
        return None

    @property
    def output(self) -> Activation:
        """The activation that computes the mean."""
        return Activation(self.default_activation)

    @property
    def fused(self) -> bool:
        """Whether loss and activation are one function of z, so that the last layer itself has no activation."""
        return self.output.name == self.default_activation

    @property
    def convex(self) -> bool:
        """Whether the second derivative of the loss is positive for all z and t, so that `curvature` is exact."""
        return True

    @classmethod
    def with_activation(cls, activation: Activation) -> "Head":
        """Return the head for an activation of the last layer; raise a ConfigError if the two do not match.

        Parameters
        ----------
        activation : Activation
            The activation of the last layer.

        Returns
        -------
        Head
            The head.
        """
        if activation.name != cls.default_activation:
            raise ConfigError(_wrong_pair(cls, activation.name))
        return cls()

    @classmethod
    def of_regressor(cls, parameters: Mapping[str, Any]) -> "Head":
        """Return the head of a regressor.

        Parameters
        ----------
        parameters : mapping
            The parameters of the regressor, by name.

        Returns
        -------
        Head
            The head.
        """
        return cls()

    def keras_factor(self, outputs: int) -> float:
        """Return the factor from the loss of a row to Keras' loss, which is a mean over outputs.

        Parameters
        ----------
        outputs : int
            The number of outputs.

        Returns
        -------
        float
            The factor.
        """
        return 1.0 if (self.classifies and not self.has_probabilities) or self.coupled else 1 / outputs

    # ---- loss and mean, computed by the core ----

    def mean(self, z: Floats) -> Floats:
        """Return the mean of each row's distribution; for the perceptron, the score.

        Parameters
        ----------
        z : array of shape (rows, outputs)
            The linear outputs of the last layer.

        Returns
        -------
        array of shape (rows, outputs)
            The means.
        """
        return self.rows(z, mean=np.empty(z.shape))

    def loss(self, z: Floats, t: Targets) -> Floats:
        """Return the loss of each row.

        Parameters
        ----------
        z : array of shape (rows, outputs)
            The linear outputs of the last layer.
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.

        Returns
        -------
        array of shape (rows,)
            The losses, summed over outputs.
        """
        return self.rows(z, t, loss=np.empty(len(z)))

    def slope(self, z: Floats, t: Targets) -> Floats:
        """Return the slope of the loss, dloss/dz.

        Parameters
        ----------
        z : array of shape (rows, outputs)
            The linear outputs of the last layer.
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.

        Returns
        -------
        array of shape (rows, outputs)
            The slopes.
        """
        return self.rows(z, t, slope=np.empty(z.shape))

    def curvature(self, z: Floats, t: Targets, *, expected: bool = False) -> Floats:
        """Return the curvature of the loss, d²loss/dz_k²; where it is not positive, its expectation over t.

        Parameters
        ----------
        z : array of shape (rows, outputs)
            The linear outputs of the last layer.
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.
        expected : bool, default=False
            Whether to return the expectation over t everywhere.

        Returns
        -------
        array of shape (rows, outputs)
            The curvatures.
        """
        return self.rows(z, t, expected=expected, curvature=np.empty(z.shape))

    def rows(self, z: Floats, t: Targets | None = None, *, expected: bool = False, **wanted: Floats) -> Floats:
        """Compute quantities of each row into the given arrays; return the first of these.

        Parameters
        ----------
        z : array of shape (rows, outputs)
            The linear outputs.
        t : array of shape (rows,) or (rows, outputs), default=None
            The targets; not needed for the mean.
        expected : bool, default=False
            Whether the curvature is its expectation over t.
        **wanted : arrays by name
            Any of mean, loss, slope and curvature, with the array to fill.

        Returns
        -------
        array
            The first of the arrays.
        """
        labels, values = (t, None) if t is not None and t.ndim == 1 else (None, t)
        core.head_rows(self.core_family, self.parameter, z, labels, values, expected=expected, **wanted)
        return next(iter(wanted.values()))

    @property
    def core_family(self) -> Any:
        """The family's enum value in the core."""
        return getattr(core.Family, self.family)

    # ---- targets ----

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        """Return a mask of valid targets, which `target_requirement` describes.

        Parameters
        ----------
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.

        Returns
        -------
        array of bool
            The mask, in the shape of `t`.
        """
        return np.ones(t.shape, np.bool_)

    @property
    def positive_only(self) -> bool:
        """Whether negative targets are invalid."""
        return False

    def link(self, mean: Floats) -> Floats:
        """Return the z of a mean; for a mean outside the range of the activation, that of a mean close to it.

        Parameters
        ----------
        mean : array
            The means.

        Returns
        -------
        array
            z, in the shape of `mean`.
        """
        return mean

    def standardised(self, centre: Floats, spread: Floats) -> "Head":
        """Return the head for the standardised targets (t - centre) / spread.

        Parameters
        ----------
        centre, spread : arrays of shape (outputs,)
            The location and the scale of each output's targets.

        Returns
        -------
        Head
            The head.
        """
        return self

    def typical_slope(self, mean: float) -> float | None:
        """Return the typical size of a row's slope; None if it is about 1 whatever the targets' mean is.

        Parameters
        ----------
        mean : float
            The mean of the targets.

        Returns
        -------
        float or None
            The size.
        """
        return None

    def recession_directions(self, t: Targets) -> Floats | None:
        """Return the direction of z in which the loss decreases without end: 1 up, -1 down.

        Parameters
        ----------
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.

        Returns
        -------
        array of shape (rows, outputs) or None
            The directions; values other than ±1 mean that there is none. None if no target has one, or if it depends on
            other outputs.
        """
        return None

    @property
    def decay_power(self) -> float:
        """The power p with which the loss of a target of 0 decreases like e^(p z) as z falls; 0 if it does not."""
        return 0.0

    # ---- likelihood ----

    @property
    def has_dispersion(self) -> bool:
        """Whether the distribution has a dispersion that must be estimated."""
        return False

    @property
    def quasi(self) -> bool:
        """Whether the variance is an estimated multiple of the distribution's own (quasi-likelihood)."""
        return False

    @property
    def variance_power(self) -> float:
        """The power q of the mean to which the variance is proportional."""
        return 0.0

    @property
    def variance_by_likelihood(self) -> bool:
        """Whether the likelihood uses the maximum-likelihood estimate of the variance (the normal distribution)."""
        return False

    @property
    def estimated_parameters(self) -> int:
        """The number of parameters of the distribution itself that were estimated from the data."""
        return 0

    def saturated_loss(self, t: Targets) -> Floats | float:
        """Return the loss of each row in the saturated model, where the mean equals the target.

        Parameters
        ----------
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.

        Returns
        -------
        array of shape (rows,) or float
            The losses; a single number if they are all equal.
        """
        return 0.0

    def deviance(self, z: Floats, t: Targets, weights: Floats) -> float:
        """Return the deviance: 2 Σ w (loss - loss of the saturated model).

        Differences are taken row by row and never fall below 0, as the difference of two large sums would be imprecise.

        Parameters
        ----------
        z : array of shape (rows, outputs)
            The linear outputs of the last layer.
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.
        weights : array of shape (rows,)
            Row weights.

        Returns
        -------
        float
            The deviance, summed over rows.
        """
        return 2 * weighted_sum(weights, np.maximum(self.loss(z, t) - self.saturated_loss(t), 0))

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        """Return the log-likelihood of all rows, including constants.

        Parameters
        ----------
        deviance : float
            The deviance.
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.
        weights : array of shape (rows,)
            Row weights.
        dispersion : float
            The dispersion.

        Returns
        -------
        float
            The log-likelihood, summed over rows; NaN if it has no formula.
        """
        return float("nan")

    # ---- the distribution of a row's target ----

    @property
    def is_estimated(self) -> bool:
        """Whether the head has a parameter that is estimated from the data together with the means."""
        return self.estimated_parameters > 0

    def with_parameter(self, parameter: float) -> "Head":
        """Return the head with another value of the estimated parameter.

        Parameters
        ----------
        parameter : float
            The value.

        Returns
        -------
        Head
            The head.
        """
        return self

    def with_estimate(self, mean: Floats, t: Floats, weights: Floats | None) -> "Head":
        """Return the head with the maximum-likelihood estimate of its parameter.

        Parameters
        ----------
        mean : array of shape (rows, outputs)
            The means.
        t : array of shape (rows, outputs)
            The targets.
        weights : array of shape (rows,) or None
            Row weights; None if all are 1.

        Returns
        -------
        Head
            The head.
        """
        return self

    def dropped_terms(self, t: Targets) -> Floats | None:
        """Return the terms per row that the loss drops although they depend on the estimated parameter, or None.

        Losses with different parameters, such as those of two epochs, can only be compared with these terms added.

        Parameters
        ----------
        t : array of shape (rows,) or (rows, outputs)
            The targets: class indices, or values.

        Returns
        -------
        array of shape (rows,) or None
            The terms.
        """
        return None

    def dispersion(self, mean: Floats, t: Floats, weights: Floats | None) -> Floats | None:
        """Return the dispersion of each output.

        Parameters
        ----------
        mean : array of shape (rows, outputs)
            The means.
        t : array of shape (rows, outputs)
            The targets.
        weights : array of shape (rows,) or None
            Row weights; None if all are 1.

        Returns
        -------
        array of shape (outputs,) or None
            The dispersions; None if the distribution has none.
        """
        return None

    def variance(self, mean: Floats, dispersion: Floats) -> Floats:
        """Return the variance of each target around its mean.

        Parameters
        ----------
        mean : array of shape (rows, outputs)
            The means.
        dispersion : array of shape (outputs,)
            The dispersion of each output.

        Returns
        -------
        array of shape (rows, outputs)
            The variances; NaN without a distribution.
        """
        return np.full(mean.shape, np.nan)

    def log_probability(self, mean: Floats, t: Floats, dispersion: Floats) -> Floats:
        """Return the log-probability or log-density of each target.

        A mean outside the distribution's range is replaced by one close to it.

        Parameters
        ----------
        mean : array of shape (rows, outputs)
            The means.
        t : array of shape (rows, outputs)
            The targets.
        dispersion : array of shape (outputs,)
            The dispersion of each output.

        Returns
        -------
        array of shape (rows, outputs)
            The logarithms; NaN if there is no formula.
        """
        return np.full(mean.shape, np.nan)

    @classmethod
    def has_distribution(cls) -> bool:
        """Return whether intervals can be computed and samples drawn."""
        return cls.distribution is not Head.distribution

    def distribution(self, mean: Floats, dispersion: Floats) -> Any:
        """Return the distributions of the targets.

        Parameters
        ----------
        mean : array of shape (rows, outputs)
            The means.
        dispersion : array of shape (outputs,)
            The dispersion of each output.

        Returns
        -------
        scipy.stats frozen distribution
            The distributions, of shape (rows, outputs).
        """
        names = [name for name, kind in HEADS.items() if kind.has_distribution()]
        raise ConfigError(f"{self.loss_name} has no distribution: intervals and samples need one of {', '.join(names)}")

    def interval(self, mean: Floats, dispersion: Floats, level: float) -> tuple[Floats, Floats]:
        """Return the central interval of each distribution that has the probability `level`.

        Parameters
        ----------
        mean : array of shape (rows, outputs)
            The means.
        dispersion : array of shape (outputs,)
            The dispersion of each output.
        level : float
            The probability, between 0 and 1.

        Returns
        -------
        low, high : arrays of shape (rows, outputs)
            The ends of the intervals.
        """
        level = check_number(level, "level", above=0, below=1)
        law = self.distribution(mean, dispersion)
        return np.asarray(law.ppf((1 - level) / 2)), np.asarray(law.ppf((1 + level) / 2))

    def draw(self, mean: Floats, dispersion: Floats, random: np.random.RandomState) -> NDArray[Any]:
        """Return one random target for each row and output.

        Parameters
        ----------
        mean : array of shape (rows, outputs)
            The means.
        dispersion : array of shape (outputs,)
            The dispersion of each output.
        random : RandomState
            The random number generator.

        Returns
        -------
        array of shape (rows, outputs)
            The targets; for classes, one index per row.
        """
        return np.asarray(self.distribution(mean, dispersion).rvs(size=mean.shape, random_state=random))

    # ---- files ----

    def _file_state(self) -> dict[str, Any]:
        """Return the state of a head in a model file, which has the same keys for all heads."""
        return {
            "activation": self.output,
            "family": self.family,
            "function": self.function,
            "power": self.parameter,
            "quasi": self.quasi,
        }

    @staticmethod
    def _from_file(state: dict[str, Any]) -> "Head":
        """Return the head with a state from a file; raise a FormatError if it is invalid."""
        family, activation = state.get("family"), state.get("activation")
        parameter, quasi = state.get("power", 0.0), state.get("quasi", False)
        if family not in HEADS or not isinstance(activation, Activation) or state.get("function") is not None:
            raise FormatError(f"it has a head {str(family)[:60]!r}, which this version of linnet does not know")
        if not isinstance(parameter, float | int) or isinstance(parameter, bool) or not isinstance(quasi, bool):
            raise FormatError(f"its head {family} has an invalid parameter, {str(parameter)[:60]!r}")
        return HEADS[family]._rebuilt(activation, float(parameter), quasi)

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> "Head":
        return cls.with_activation(activation)


@dataclass(frozen=True)
class AnyActivation(Head):
    """A head that works with any activation a: the mean is a(z), and the gradient includes the derivative of a."""

    activation: Activation | str | None = None

    def __post_init__(self) -> None:
        activation = Activation("identity") if self.activation is None else as_activation(self.activation)
        object.__setattr__(self, "activation", activation)

    @property
    def output(self) -> Activation:
        """The activation that computes the mean."""
        assert isinstance(self.activation, Activation)  # converted in __post_init__
        return self.activation

    @classmethod
    def with_activation(cls, activation: Activation) -> Self:
        """Return the head with an activation of the last layer."""
        return cls(activation)


def weighted_sum(weights: Floats, of_rows: Floats) -> float:
    """Return Σ w x over rows; rows of weight 0 add nothing, even if their x is infinite.

    Parameters
    ----------
    weights : array of shape (rows,)
        The weights w.
    of_rows : array of shape (rows,)
        The values x.

    Returns
    -------
    float
        The sum.
    """
    total = core.dot(weights, of_rows)
    return total if np.isfinite(total) else core.dot(weights, np.where(weights > 0, of_rows, 0.0))


def _wrong_pair(kind: type[Head], activation: str) -> str:
    actual = "none" if activation == "identity" else repr(activation)
    message = f"{kind.loss_name} needs activation={kind.default_activation!r} on the last layer, which has {actual}"
    matching = [other for other in HEADS.values() if other.default_activation == activation and other.keras_losses]
    if activation == "identity":  # the default of some heads that only work without an activation
        matching = [other for other in matching if issubclass(other, AnyActivation)]
    if matching:
        names = " or ".join(f"{other.loss_name} (loss={other.keras_losses[0]!r})" for other in matching)
        message += f"; {activation!r} is for {names}"
    return message
