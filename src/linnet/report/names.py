"""Metrics by name, for the report."""

from linnet.errors import ConfigError
from linnet.evaluate.metric import Metric
from linnet.evaluate.metrics import metric_named


def as_metric(name: str) -> Metric:
    """Return a metric by name.

    An unknown name, which a file of a later version may hold, becomes a metric of that name alone.
    """
    try:
        return metric_named(name)
    except ConfigError:
        return Metric(name)
