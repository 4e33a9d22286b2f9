"""The course: chapters of assignments, in the order of the subject."""

from functools import cache

from linnet.errors import ConfigError, unknown_name
from linnet.learn.assignment import Assignment, Chapter
from linnet.learn.course import classes, deep, evaluation, glm, graph, linear, networks, optimizers, reductions, theory

COURSE = (
    Chapter("Linear regression", linear.LINEAR_ASSIGNMENTS),
    Chapter("Two classes and many", classes.CLASSES_ASSIGNMENTS),
    Chapter("Counts, likelihoods, one gradient for all", glm.GLM_ASSIGNMENTS),
    Chapter(
        "Networks",
        (
            *networks.NETWORKS_ASSIGNMENTS,
            *optimizers.OPTIMIZERS_ASSIGNMENTS,
            *deep.DEEP_ASSIGNMENTS,
            *graph.GRAPH_ASSIGNMENTS,
        ),
    ),
    Chapter("Many classes from two", reductions.REDUCTIONS_ASSIGNMENTS),
    Chapter("Evaluation", evaluation.EVALUATION_ASSIGNMENTS),
    Chapter("Theory", theory.THEORY_ASSIGNMENTS),
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
