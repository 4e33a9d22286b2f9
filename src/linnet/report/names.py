"""What a report calls metrics."""

from linnet.errors import ConfigError
from linnet.evaluate.metric import Metric
from linnet.evaluate.metrics import metric_named


def as_metric(name: str) -> Metric:
    """The metric of a name; one that this version does not know has a name alone, as a model file may say anything."""
    try:
        return metric_named(name)
    except ConfigError:
        return Metric(name)
