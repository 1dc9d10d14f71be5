"""Real training of candidates: trials are steps of a local workflow, on rows of the card."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import io
import os
import random
import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from couler.backends.base import RunOptions
from couler.dsl.objects import Cache
from couler.dsl.workflow import Workflow
from couler.errors import ConfigurationError, TuningError
from couler.state.home import Home
from couler.steps import sklearn
from couler.steps.dataset import Dataset, Task
from couler.tuning.arrays import ARRAY_LABEL, read_arrays
from couler.tuning.cards import DataCard, DataSource, ModelCard, Training
from couler.tuning.choosing import best_of
from couler.tuning.estimators import refuse_unknown_parameters
from couler.tuning.outcome import Candidate, Outcome, RealTraining, ranked
from couler.tuning.space import SearchSpace, Setting

_TASKS: Mapping[str, Task] = {"classes": "classification", "number": "regression"}

_NAME = "tuning-trials"

_TRIAL = "trial"

_TRIED = 3
"""So many candidates of a space without a default are tried before it is said to be wrong."""


@dataclass(frozen=True, kw_only=True)
class ValidateOptions:
    """How candidates are trained."""

    top: int = 3
    splits: int = 5
    seed: int = 0
    test_fraction: float = 0.2
    run: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        for name in ("top", "splits"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it is at least 1")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}; it is 0 or more")
        if not 0 < self.test_fraction < 1:
            raise ValueError(f"test_fraction is {self.test_fraction}; it is between 0 and 1")


def validate(
    outcome: Outcome,
    data: DataCard,
    model: ModelCard,
    options: ValidateOptions = ValidateOptions(),
    *,
    on_event: Callable[[t.Any], None] | None = None,
) -> Outcome:
    """Train the best candidates and the default, and choose the best by what that came to."""
    chosen = trials_of(outcome, options.top)
    settings = {one.name: one.parameters for one in chosen}
    found = train_for_real(settings, data, model, options, on_event=on_event)
    if all(one.mean is None for one in found.values()):
        problems = [f"{name}: {one.problem}" for name, one in found.items()]
        raise TuningError("no candidate could be trained", problems)
    candidates = tuple(
        one.model_copy(update={"real": found[one.name]}) if one.name in found else one
        for one in outcome.candidates
    )
    left_out = rows_of(data, options.run.home).left_out
    update = {"candidates": candidates, "not_trained_on": left_out}
    return best_of(outcome.model_copy(update=update))


def check_trainable(
    data: DataCard,
    model: ModelCard,
    space: SearchSpace,
    options: ValidateOptions = ValidateOptions(),
) -> None:
    """Refuse what nothing can be trained of, before anything is predicted and paid."""
    training = _training_of(model)
    _scorer_of(data)
    rows_of(data, options.run.home)
    refuse_unknown_parameters(training.estimator, (*training.fixed, *space.parameters))
    default = space.default
    settings: Sequence[Setting] = (
        [default]
        if default is not None
        else [*space.given[:_TRIED]] or space.draw(_TRIED, random.Random(options.seed), set())
    )
    once = replace(options, splits=1)
    problem: str | None = "the search space has no candidate"
    for setting in settings:
        problem = train_for_real({_TRIAL: setting}, data, model, once)[_TRIAL].problem
        if problem is None:
            return
    what = "the default" if default is not None else f"none of {len(settings)} candidates"
    can = "cannot" if default is not None else "can"
    raise TuningError(f"{what} {can} be trained, so nothing was asked of the model: {problem}")


def trials_of(outcome: Outcome, top: int) -> list[Candidate]:
    """Return the candidates that are trained: the best by their logs, and the default."""
    best = ranked(outcome.candidates, outcome.metric)[:top]
    default = [one for one in outcome.candidates if one.origin == "default"]
    return [*best, *(one for one in default if one not in best)]


def train_for_real(
    settings: Mapping[str, Setting],
    data: DataCard,
    model: ModelCard,
    options: ValidateOptions = ValidateOptions(),
    *,
    on_event: Callable[[t.Any], None] | None = None,
) -> dict[str, RealTraining]:
    """Train settings of hyperparameters in a workflow on this machine."""
    training, scorer = _training_of(model), _scorer_of(data)
    rows = rows_of(data, options.run.home)
    seeds = range(options.seed, options.seed + options.splits)
    with Workflow(_NAME) as workflow:
        for name, setting in settings.items():
            for seed in seeds:
                _trial(f"{name}-{seed}", setting, training, scorer, rows, data, seed, options)
    result = workflow.run(options=options.run, on_event=on_event)
    if result is None:  # a program is only looked at
        raise TuningError("candidates are not trained while a program is only read")
    if result.status == "cancelled":  # what has ended by then compares nothing
        raise KeyboardInterrupt
    found: dict[str, RealTraining] = {}
    for name in settings:
        steps = [result.steps[f"{name}-{seed}"] for seed in seeds]
        failed = next((one for one in steps if one.status not in ("succeeded", "cached")), None)
        if failed is not None:
            found[name] = RealTraining(problem=_why(failed))
            continue
        scores = tuple(data.metric.from_score(float(one.outputs["score"])) for one in steps)
        found[name] = RealTraining(scores=scores)
    return found


def _trial(
    name: str,
    setting: Setting,
    training: Training,
    scorer: str,
    rows: TrainingRows,
    data: DataCard,
    seed: int,
    options: ValidateOptions,
) -> None:
    dataset = Dataset(
        name=rows.name,
        data=rows.file,
        label_col=rows.label,
        feature_cols=rows.features,
        delimiter=rows.delimiter,
        task=_TASKS[data.label_space.kind],
        test_fraction=options.test_fraction,
        seed=seed,
    )
    sklearn.train(
        training.estimator,
        dataset,
        {**_plain(training.fixed), **_plain(setting)},
        scoring=scorer,
        scale=training.scale,
        cache=Cache(key=rows.digest),
        step_name=name,
    )


def _training_of(model: ModelCard) -> Training:
    if model.training is None:
        raise TuningError(
            f'the model card "{model.name}" does not say how the model is trained. Add '
            "training: {estimator: NAME}, with the name of an estimator of scikit-learn"
        )
    return model.training


def _scorer_of(data: DataCard) -> str:
    if data.label_space.kind not in _TASKS:
        raise TuningError(
            f'the data card "{data.name}": labels are neither classes nor numbers, so that nothing '
            "here can be trained on them"
        )
    if data.metric.scorer is None:
        raise TuningError(
            f'the data card "{data.name}": nothing here computes {data.metric.name}. Take another '
            "metric, or add scorer, the name of a scorer of scikit-learn"
        )
    return data.metric.scorer


def _plain(setting: Setting) -> dict[str, t.Any]:
    """Return a setting with lists for tuples, as JSON has them."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in setting.items()
    }


def _why(step: t.Any) -> str:
    """Return why training failed: the last line that it wrote, or what the run says of it."""
    lines = _last_lines(step.log) if step.log is not None else []
    return (lines[-1] if lines else step.message or step.status)[:500]


def _last_lines(log: Path) -> Sequence[str]:
    try:
        text = log.read_text(encoding="utf-8", errors="replace")[-4000:]
    except OSError:
        return ()
    return [line for line in text.splitlines() if line.strip()]


NEEDS_EXTRA = "real training needs scikit-learn: pip install 'couler[tuning]'"


class TrainingRows(t.NamedTuple):
    """Where rows are, as a `couler.Dataset` says it."""

    name: str | None
    file: str | None
    label: str | None
    features: list[str] | None
    delimiter: str | None
    digest: str
    """Of the content and of the version of scikit-learn: trials of others are not taken for it."""
    left_out: tuple[str, ...] = ()
    """Columns that are not trained on, since they hold no numbers."""


def rows_of(data: DataCard, home: Path | None) -> TrainingRows:
    """Return where the rows of a card are."""
    source = data.data
    if source is None:
        raise TuningError(
            f'the data card "{data.name}" does not say where the data are, so nothing can be '
            "trained on them. Add data: {file: PATH} or data: {name: digits}"
        )
    version = _version()
    if source.name is not None:
        return TrainingRows(source.name, None, None, None, None, f"scikit-learn {version}")
    path = Path(source.file or "").absolute()
    digest, label = _digest(path), data.label_space.column
    if path.suffix == ".npz":
        path = _as_csv(path, digest, home)
        label = label or ARRAY_LABEL
    return TrainingRows(
        None,
        str(path),
        label,
        _features(data, source),
        source.delimiter,
        f"{digest} scikit-learn {version}",
        _left_out(data, source),
    )


def _version() -> str:
    try:
        return importlib.metadata.version("scikit-learn")
    except importlib.metadata.PackageNotFoundError as error:
        raise ConfigurationError(NEEDS_EXTRA) from error


def _features(data: DataCard, source: DataSource) -> list[str] | None:
    """Return the columns of numbers where the card knows of others; None for all."""
    label = data.label_space.column
    others = [one for one in data.columns if one.name != label]
    is_whole = data.features is not None and len(others) == data.features
    if source.name is not None or not is_whole or all(one.type == "number" for one in others):
        return None
    return [one.name for one in others if one.type == "number"]


def _left_out(data: DataCard, source: DataSource) -> tuple[str, ...]:
    """Return the columns that `_features` does not name."""
    taken, label = _features(data, source), data.label_space.column
    if taken is None:
        return ()
    return tuple(one.name for one in data.columns if one.name not in (label, *taken))


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TuningError(f"the data {path} cannot be read: {error.strerror}") from error


def _as_csv(path: Path, digest: str, home: Path | None) -> Path:
    """Return a CSV file with the rows of an npz file, which steps read from there."""
    folder = (home or Home.find(os.environ).root) / "tuning"
    made = folder / f"{digest[:32]}-quoted.csv"  # others were written without quotes
    if made.exists():
        return made
    arrays = read_arrays(path)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*arrays.names, ARRAY_LABEL])
    for row, label in zip(arrays.x, arrays.y, strict=True):
        writer.writerow([*(repr(float(one)) for one in row), label])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        begun = made.with_suffix(f".{os.getpid()}")
        begun.write_text(text.getvalue(), encoding="utf-8", newline="")
        begun.replace(made)
    except OSError as error:
        raise TuningError(f"{made} cannot be written: {error.strerror}") from error
    return made
