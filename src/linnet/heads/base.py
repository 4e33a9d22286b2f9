"""What every head has: the distribution of the target, the activation that makes its mean, and the loss."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.errors import ConfigError, FormatError, unknown_name
from linnet.heads.activations import Activation, as_activation
from linnet.registry import saved

Floats = NDArray[np.float64]
Targets = NDArray[Any]  # labels, one per row, or values, rows x outputs
LossFunction = Callable[[Floats, Floats], tuple[Floats, Floats]]
_Kind = TypeVar("_Kind", bound="type[Head]")

HEADS: "dict[str, type[Head]]" = {}  # by family: filled by `registered`


def registered(kind: _Kind) -> _Kind:
    """Make a head known by the name of its family."""
    HEADS[kind.family] = kind
    return saved(kind, "Head")  # files name the family


def head_named(family: str, parameter: float = 0.0) -> "Head":
    """Return the head of a family by its name, with its own activation; `parameter`: if it has one."""
    if family not in HEADS:
        raise unknown_name("head", family, HEADS)
    return HEADS[family]._rebuilt(Activation(HEADS[family].own_activation), parameter, False)


def heads_by_loss(*, keras: bool = False) -> "dict[str, type[Head]]":
    """The heads by the names of their losses."""
    return {name: kind for kind in HEADS.values() for name in (kind.keras_losses if keras else kind.losses)}


def losses_with(wanted: "Callable[[type[Head]], bool]") -> str:
    """The losses of regressors whose heads have what is wanted, as a message lists them."""
    names = [repr(kind.losses[0]) for kind in HEADS.values() if kind.losses and wanted(kind)]
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def count_heads() -> "list[type[Head]]":
    """The heads of counts, those without a parameter to estimate first."""
    return sorted((kind for kind in HEADS.values() if kind.counts), key=lambda kind: bool(kind.parameter_symbol))


@saved
@dataclass(frozen=True)
class Head:
    """A distribution for the target and the activation that makes its mean from z, the last layer's linear output.

    The methods take z (rows x outputs), or what an activation other than the head's own made of it. The loss of a row
    is the sum over its outputs, constants dropped.
    """

    # ---- names ----
    family: ClassVar[str]  # in the core and in files
    own_activation: ClassVar[str] = "identity"
    loss_name: ClassVar[str]  # as messages say it
    losses: ClassVar[tuple[str, ...]] = ()  # names of its loss in regressors
    keras_losses: ClassVar[tuple[str, ...]] = ()  # and in Sequential
    label_losses: ClassVar[tuple[str, ...]] = ()  # those of them whose targets are class numbers
    table_loss: ClassVar[str] = ""  # the one of them that networks of tables offer; that of counts is the first
    default_metric: ClassVar[str] = "loss"  # what early stopping of a regressor watches
    title: ClassVar[str] = ""  # what people call the distribution
    formulas: ClassVar[tuple[str, str]] = ("", "")  # to show: Keras' loss of one output, and its slope dloss/dz
    parameter_symbol: ClassVar[str] = ""  # in those formulas, of the parameter that is estimated, if there is one

    # ---- what the loss is like ----
    quadratic: ClassVar[bool] = False  # the second derivatives are the same whatever z
    coupled: ClassVar[bool] = False  # the outputs of a row belong together: one class out of as many
    nonnegative: ClassVar[bool] = False  # no loss is below 0
    positive_mean: ClassVar[bool] = False  # z is the mean of a distribution that has none of 0 or less
    log_link: ClassVar[bool] = False  # the mean is e^z
    loss_is_deviance: ClassVar[bool] = False  # half of it: the loss where the mean is the target is 0
    straight_in_target: ClassVar[bool] = False  # for one z the loss is a straight line in the target

    # ---- what the target is like ----
    classifies: ClassVar[bool] = False  # targets are classes, or yes and no
    has_probabilities: ClassVar[bool] = False  # the mean is a probability
    cut: ClassVar[float] = 0.5  # means above it say yes
    only_yes_no: ClassVar[bool] = False  # of classes: two, or labels that each may be or not
    counts: ClassVar[bool] = False  # how often something happens: tables and the playground offer it for counts
    any_unit: ClassVar[bool] = False  # targets may be moved and scaled: the head of the new ones is `in_unit`
    wanted: ClassVar[str] = ""  # what targets must be, as messages say it

    @property
    def parameter(self) -> float:
        """The one number that the core's formulas may have."""
        return 0.0

    @property
    def function(self) -> LossFunction | None:
        """The loss of a custom head."""
        return None

    @property
    def output(self) -> Activation:
        """The activation that makes the mean."""
        return Activation(self.own_activation)

    @property
    def fused(self) -> bool:
        """Whether loss and activation are one function of z, so that the last layer itself has no activation."""
        return self.output.name == self.own_activation

    @property
    def convex(self) -> bool:
        """Whether the second derivative of the loss is above 0 whatever z and t, so that `curvature` is exact."""
        return True

    @classmethod
    def with_activation(cls, activation: Activation) -> "Head":
        """The head whose last layer has this activation, or a ConfigError that says which one it goes with."""
        if activation.name != cls.own_activation:
            raise ConfigError(_wrong_pair(cls, activation.name))
        return cls()

    @classmethod
    def of_regressor(cls, parameters: Mapping[str, Any]) -> "Head":
        """The head of a regressor with these parameters, of which it may have one."""
        return cls()

    def keras_factor(self, outputs: int) -> float:
        """What the loss of a row is multiplied by to be Keras', which takes the mean over outputs."""
        return 1.0 if (self.classifies and not self.has_probabilities) or self.coupled else 1 / outputs

    # ---- loss and mean, computed by the core ----

    def mean(self, z: Floats) -> Floats:
        """Return the mean of each row's distribution; the perceptron's score."""
        return self.rows(z, mean=np.empty(z.shape))

    def loss(self, z: Floats, t: Targets) -> Floats:
        """Return the loss of each row."""
        return self.rows(z, t, loss=np.empty(len(z)))

    def slope(self, z: Floats, t: Targets) -> Floats:
        """Return dloss/dz, rows x outputs."""
        return self.rows(z, t, slope=np.empty(z.shape))

    def curvature(self, z: Floats, t: Targets, *, expected: bool = False) -> Floats:
        """Return d²loss/dz_k², rows x outputs; with `expected`, or where it is not above 0, its mean over t."""
        return self.rows(z, t, expected=expected, curvature=np.empty(z.shape))

    def rows(self, z: Floats, t: Targets | None = None, *, expected: bool = False, **wanted: Floats) -> Floats:
        """Fill in what is wanted: mean, loss, slope, curvature; return the first of them."""
        labels, values = (t, None) if t is not None and t.ndim == 1 else (None, t)
        core.head_rows(self.core_family, self.parameter, z, labels, values, expected=expected, **wanted)
        return next(iter(wanted.values()))

    @property
    def core_family(self) -> Any:
        """The family as the core knows it."""
        return getattr(core.Family, self.family)

    # ---- targets ----

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        """Which values can be targets; `wanted` says which in words."""
        return np.ones(t.shape, np.bool_)

    @property
    def positive_only(self) -> bool:
        """Whether no target may be below 0."""
        return False

    def link(self, mean: Floats) -> Floats:
        """The z whose mean this is; where none is, that of a mean close to it."""
        return mean

    def in_unit(self, centre: Floats, spread: Floats) -> "Head":
        """The head of targets (t - centre) / spread, by output."""
        return self

    def usual_slope(self, mean: float) -> float | None:
        """What the slope of a row is like where the mean of all targets is this; None if it is never far from it."""
        return None

    def for_ever(self, t: Targets) -> Floats | None:
        """The way each z may go for ever and only gain, rows x outputs: 1 up, -1 down, anything between neither; None
        if that depends on other outputs, or no target lets it.
        """
        return None

    @property
    def fading(self) -> float:
        """The power of e^z that the loss of a target of 0 falls with; 0 if z may not go down for ever."""
        return 0.0

    # ---- likelihood ----

    @property
    def has_dispersion(self) -> bool:
        """Whether the distribution has a dispersion that is not known beforehand."""
        return False

    @property
    def quasi(self) -> bool:
        """Whether the variance is a multiple, to be estimated, of the one the distribution has."""
        return False

    @property
    def variance_power(self) -> float:
        """The power q of the mean that the variance goes with."""
        return 0.0

    @property
    def variance_by_likelihood(self) -> bool:
        """Whether the variance of all rows is the one that makes the likelihood largest (the normal distribution)."""
        return False

    @property
    def own_parameters(self) -> int:
        """How many numbers of the distribution itself were estimated from the data."""
        return 0

    def least_loss(self, t: Targets) -> Floats | float:
        """The loss of each row where the mean is the target."""
        return 0.0

    def deviance(self, z: Floats, t: Targets, weights: Floats) -> float:
        """Twice the distance of the loss sum from its least, where every mean is its row's target. Row by row and never
        below 0: the difference of two sums would have few digits, or none, where losses are large.
        """
        return 2 * weighted_sum(weights, np.maximum(self.loss(z, t) - self.least_loss(t), 0))

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        """Log-likelihood of all rows whose deviance is known, with all its constants; NaN where there is no formula."""
        return float("nan")

    # ---- the distribution of a row's target ----

    @property
    def is_estimated(self) -> bool:
        """Whether the head has a parameter that is to be found from the data beside the means."""
        return self.own_parameters > 0

    def with_parameter(self, parameter: float) -> "Head":
        """The head with another value of the parameter that is to be found."""
        return self

    def with_estimate(self, mean: Floats, t: Floats, weights: Floats | None) -> "Head":
        """The head with the parameter of largest likelihood for these means and targets (rows x outputs)."""
        return self

    def left_out(self, t: Targets) -> Floats | None:
        """What the loss of each row leaves out that depends on the parameter to be found; None: there is no such thing.

        With it losses under different parameters can be compared, as an epoch's with that of the epoch before.
        """
        return None

    def dispersion(self, mean: Floats, t: Floats, weights: Floats | None) -> Floats | None:
        """The dispersion of each output, from means and targets (rows x outputs); None without a distribution."""
        return None

    def variance(self, mean: Floats, dispersion: Floats) -> Floats:
        """The variance of each target around its mean, rows x outputs; NaN without a distribution."""
        return np.full(mean.shape, np.nan)

    def log_probability(self, mean: Floats, t: Floats, dispersion: Floats) -> Floats:
        """The logarithm of the probability, or density, of each target (rows x outputs); NaN where there is no formula.

        A mean that the distribution cannot have stands for one close to it.
        """
        return np.full(mean.shape, np.nan)

    @classmethod
    def has_distribution(cls) -> bool:
        """Whether intervals can be computed and samples drawn."""
        return cls.distribution is not Head.distribution

    def distribution(self, mean: Floats, dispersion: Floats) -> Any:
        """The distributions around these means, as scipy.stats has them."""
        known = [name for name, kind in HEADS.items() if kind.has_distribution()]
        raise ConfigError(f"{self.loss_name} has no distribution: intervals and samples need one of {', '.join(known)}")

    def interval(self, mean: Floats, dispersion: Floats, level: float) -> tuple[Floats, Floats]:
        """The ends of the middle part of each distribution that has the probability `level`."""
        if not 0 < level < 1:
            raise ConfigError(f"level must be between 0 and 1, got {level!r}")
        law = self.distribution(mean, dispersion)
        return np.asarray(law.ppf((1 - level) / 2)), np.asarray(law.ppf((1 + level) / 2))

    def draw(self, mean: Floats, dispersion: Floats, random: np.random.RandomState) -> NDArray[Any]:
        """One target for each row and output."""
        return np.asarray(self.distribution(mean, dispersion).rvs(size=mean.shape, random_state=random))

    # ---- files ----

    def _file_state(self) -> dict[str, Any]:
        """What a model file keeps of a head, whichever it is."""
        return {
            "activation": self.output,
            "family": self.family,
            "function": self.function,
            "power": self.parameter,
            "quasi": self.quasi,
        }

    @staticmethod
    def _from_file(state: dict[str, Any]) -> "Head":
        """The head of such a state; what cannot be one is an error."""
        family, activation = state.get("family"), state.get("activation")
        parameter, quasi = state.get("power", 0.0), state.get("quasi", False)
        if family not in HEADS or not isinstance(activation, Activation) or state.get("function") is not None:
            raise FormatError(f"it holds a head {str(family)[:60]!r}, which this version of linnet does not know")
        if not isinstance(parameter, float | int) or isinstance(parameter, bool) or not isinstance(quasi, bool):
            raise FormatError(
                f"the head {family} in it has the parameter {str(parameter)[:60]!r}, which it cannot have"
            )
        return HEADS[family]._rebuilt(activation, float(parameter), quasi)

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> "Head":
        return cls.with_activation(activation)


@dataclass(frozen=True)
class AnyActivation(Head):
    """A head whose loss may also be taken after any other activation a: the mean is then a(z), and the gradient goes
    through a's own derivative.
    """

    activation: Activation | str | None = None

    def __post_init__(self) -> None:
        given = Activation("identity") if self.activation is None else as_activation(self.activation)
        object.__setattr__(self, "activation", given)

    @property
    def output(self) -> Activation:
        """The activation that makes the mean."""
        assert isinstance(self.activation, Activation)  # made one above
        return self.activation

    @classmethod
    def with_activation(cls, activation: Activation) -> Self:
        """The head whose last layer has this activation."""
        return cls(activation)


def weighted_sum(weights: Floats, of_rows: Floats) -> float:
    """Σ w x over rows; a row without weight adds nothing, even if its x is infinite."""
    total = core.dot(weights, of_rows)
    return total if np.isfinite(total) else core.dot(weights, np.where(weights > 0, of_rows, 0.0))


def _wrong_pair(kind: type[Head], activation: str) -> str:
    given = "none" if activation == "identity" else repr(activation)
    message = f"{kind.loss_name} needs activation={kind.own_activation!r} on the last layer, which has {given}"
    right = [other for other in HEADS.values() if other.own_activation == activation and other.keras_losses]
    if activation == "identity":  # which others may have, too
        right = [other for other in right if issubclass(other, AnyActivation)]
    if right:
        names = " or ".join(f"{other.loss_name} (loss={other.keras_losses[0]!r})" for other in right)
        message += f"; {activation!r} goes with {names}"
    return message
