"""Facts of a report: what is known of a model, and the facts of each section."""

from collections.abc import Sequence
from typing import Any

from linnet._sklearn import Estimator
from linnet.errors import DataWarning, hearing
from linnet.report.facts import Facts, how_trained, versions
from linnet.report.page import SECTIONS
from linnet.report.section import Progress, Subject
from linnet.tables.model import TableModel
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import Examples


def facts_of(
    model: TableModel,
    data: Any = None,
    *,
    training: Examples | None = None,
    files: Sequence[str] = (),
    command: str = "",
    notices: Sequence[str] = (),
    progress: Progress = lambda share: None,
) -> Facts:
    """Measure a model on rows that it was not trained on.

    Parameters
    ----------
    model : TableModel
        The model.
    data : frame, table, file or None, default=None
        Rows with the target, in any form that `TableModel.predict` takes; None: the rows held out in the training of
        this model.
    training : Examples or None, default=None
        The training rows, needed for intervals of coefficients.
    files : list of str, default=()
        The files of the training rows.
    command : str, default=""
        The command that trained the model; by default rebuilt from the settings in the model.
    notices : list of str, default=()
        What a reader should know about the data.
    progress : callable, optional
        Called with the share of the work done, from 0 to 1.

    Returns
    -------
    Facts
        All facts of the report.
    """
    with hearing(DataWarning) as warned:
        if data is None:
            assert model.run is not None, "a model from a file has no rows"
            found = model.run.predictions
            found.rows.warn()
            evaluation = Evaluation(model, model.run.held_out, found)
        else:
            evaluation = Evaluation.of(model, data)
    seed = model.facts.get("seed")
    by_name: dict[str, Any] = {}
    noticed = [*notices, *warned]
    for index, section in enumerate(SECTIONS):
        share = _share_of(progress, index, len(SECTIONS))
        by_name |= section.empty
        if section.applies(model):
            own = section.facts(Subject(evaluation, training, seed or 0, share))
            noticed += section.notices(own, model)
            by_name |= own
        share(1.0)
    return _general(evaluation, seed, files, command, noticed, by_name)


def _share_of(progress: Progress, index: int, count: int) -> Progress:
    """Return the progress of one of several sections."""
    return lambda share: progress((index + share) / count)


def _general(
    evaluation: Evaluation,
    seed: int | None,
    files: Sequence[str],
    command: str,
    notices: Sequence[str],
    by_section: dict[str, Any],
) -> Facts:
    model, known = evaluation.model, evaluation.model.facts
    assert model.schema.target is not None
    chosen = next((one for one in model.tried if one.chosen), None)
    return Facts(
        target=model.schema.target,
        task=model.task,
        reason=model.schema.reason,
        model=chosen.name if chosen else type(model.estimator).__name__,
        what=chosen.what if chosen else "",
        estimator=repr(model.estimator) if isinstance(model.estimator, Estimator) else type(model.estimator).__name__,
        files=tuple(files),
        rows=known.get("rows"),
        held_out=len(evaluation.y),
        seed=seed,
        roles={role: column for role, column in model.roles.given.items() if role != "target"},
        classes=() if model.classes is None else tuple(str(name) for name in model.classes),
        threshold=model.threshold,
        columns=model.schema.columns,
        tried=model.tried,
        metric=model.metric,
        distribution_metric=known.get("distribution_metric", ""),
        notices=tuple(dict.fromkeys((*notices, *model.schema.notices))),
        command=command or how_trained(known, files),
        versions=known.get("versions") or versions(),
        by_section=by_section,
    )
