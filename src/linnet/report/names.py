"""What a report calls metrics."""

from linnet.errors import ConfigError
from linnet.evaluate.metric import Metric
from linnet.evaluate.metrics import metric_named


def as_metric(name: str) -> Metric:
    """The metric of a name; a name that this version does not know, which a file may have, is all that is known."""
    try:
        return metric_named(name)
    except ConfigError:
        return Metric(name)
