"""The course: chapters of assignments, in the order of the subject."""

from functools import cache

from linnet.errors import ConfigError, unknown_name
from linnet.learn.assignment import Assignment, Chapter
from linnet.learn.course import classes, deep, evaluation, glm, graph, linear, networks, optimizers, reductions, theory

COURSE = (
    Chapter("Linear regression", linear.LINEAR_REGRESSION),
    Chapter("Two classes and many", classes.CLASSIFICATION),
    Chapter("Counts, likelihoods, one gradient for all", glm.LIKELIHOODS),
    Chapter("Networks", (*networks.NETWORKS, *optimizers.OPTIMIZER_STEPS, *deep.DEEP_NETWORKS, *graph.GRAPHS)),
    Chapter("Many classes from two", reductions.REDUCTIONS),
    Chapter("Evaluation", evaluation.EVALUATION),
    Chapter("Theory", theory.THEORY),
)


@cache
def _by_name() -> dict[str, Assignment]:
    return {one.name: one for chapter in COURSE for one in chapter.assignments}


def assignments() -> list[Assignment]:
    """Return all assignments in order."""
    return [*_by_name().values()]


def find(name: str) -> Assignment:
    """Return an assignment by its name, or that of its file."""
    plain = name.removesuffix(".py").removesuffix(".ipynb").replace("_", "-").lower()
    if plain not in _by_name():
        raise ConfigError(unknown_name("assignment", name, _by_name()))
    return _by_name()[plain]
