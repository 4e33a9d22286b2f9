"""The metrics that suit a task; `linnet.evaluate.metrics` has them."""

from linnet.errors import ConfigError, unknown_name
from linnet.evaluate.metric import Metric, Needs, Reported
from linnet.evaluate.metrics import METRICS, metric_named
from linnet.tables.task import Task


def metrics_of(task: Task) -> list[Metric]:
    """The metrics that a model of the task is reported with, the one that chooses first."""
    found = [metric for metric in METRICS.values() if Reported[task.name] in metric.reported]
    # of counts the means choose, and how far counts spread around them is a question of its own
    return sorted(found, key=lambda metric: metric.of_distribution and not task.has_classes)


def as_metric(name: str, task: Task) -> Metric:
    """The metric of a name, such as f2 or f0.5 for any F-beta."""
    known = [metric.name for metric in metrics_of(task)]
    try:
        found = metric_named(name)
    except ConfigError:
        raise unknown_name("metric", name, known) from None
    if not _suits(found, task):
        raise ConfigError(f"the metric {name} does not suit the task {task!r}: choose from {', '.join(known)}")
    return found


def _suits(metric: Metric, task: Task) -> bool:
    if metric.reported:
        return Reported[task.name] in metric.reported
    one_of_many = metric.of_positive and not metric.averaged and task is Task.MANY_CLASSES
    return metric.complete and not one_of_many and task.has_classes == (metric.needs is not Needs.NUMBERS)
