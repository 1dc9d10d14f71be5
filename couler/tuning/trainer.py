"""Real training: settings are trained by steps of a local workflow, on the rows of a data card."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import io
import os
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
from couler.tuning.cards import DataCard, ModelCard, Training
from couler.tuning.estimators import refuse_unknown_parameters
from couler.tuning.outcome import RealTraining
from couler.tuning.space import SearchSpace, Setting

_TASKS: Mapping[str, Task] = {"classes": "classification", "number": "regression"}

_TEST_FRACTION = 0.2


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Trains settings on the same random splits of the rows."""

    data: DataCard
    model: ModelCard
    splits: int = 5
    seed: int = 0
    run: RunOptions = field(default_factory=RunOptions)
    on_event: Callable[[t.Any], None] | None = None

    def __post_init__(self) -> None:
        if self.splits < 1:
            raise ValueError(f"splits is {self.splits}; it is at least 1")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}; it is 0 or more")

    @property
    def scoring(self) -> str:
        """The protocol by which a setting has its score."""
        left_out = len(left_out_columns(self.data))
        return (
            f"{self.data.metric.name}: the mean over {self.splits} random splits of the rows. For "
            f"each the model is trained on {1 - _TEST_FRACTION:.0%} of the rows and scored on the "
            f"other {_TEST_FRACTION:.0%}, as it is when training ends."
            + f" Columns that hold no numbers ({left_out}) are left out."
            * bool(left_out)
        )

    def check(self, space: SearchSpace) -> None:
        """Refuse a card or a space that cannot be trained, before a language model is asked."""
        training, _ = self._training, self._scorer
        dataset_of(self.data, self.run.home)
        refuse_unknown_parameters(training.estimator, (*training.fixed, *space.parameters))

    def __call__(self, settings: Mapping[str, Setting]) -> dict[str, RealTraining]:
        """Return the scores of settings by name."""
        training, scorer = self._training, self._scorer
        dataset, digest = dataset_of(self.data, self.run.home)
        seeds = range(self.seed, self.seed + self.splits)
        with Workflow("tuning-trials") as workflow:
            for name, setting in settings.items():
                for seed in seeds:
                    sklearn.train(
                        training.estimator,
                        replace(dataset, seed=seed),
                        {**_plain(training.fixed), **_plain(setting)},
                        scoring=scorer,
                        scale=training.scale,
                        cache=Cache(key=digest),
                        step_name=f"{name}-{seed}",
                    )
        result = workflow.run(options=self.run, on_event=self.on_event)
        if result is None:  # a program is only looked at
            raise TuningError("candidates are not trained while a program is only read")
        if result.status == "cancelled":  # scores of some splits compare nothing
            raise KeyboardInterrupt
        found: dict[str, RealTraining] = {}
        for name in settings:
            steps = [result.steps[f"{name}-{seed}"] for seed in seeds]
            failed = next((one for one in steps if one.status not in ("succeeded", "cached")), None)
            if failed is not None:
                found[name] = RealTraining(problem=_why(failed))
                continue
            metric = self.data.metric
            scores = tuple(metric.from_score(float(one.outputs["score"])) for one in steps)
            found[name] = RealTraining(scores=scores)
        return found

    @property
    def _training(self) -> Training:
        if self.model.training is None:
            raise TuningError(
                f'the model card "{self.model.name}" does not say how the model is trained. Add '
                "training: {estimator: NAME}, with the name of an estimator of scikit-learn"
            )
        return self.model.training

    @property
    def _scorer(self) -> str:
        if self.data.metric.scorer is None:
            raise TuningError(
                f'the data card "{self.data.name}": nothing here computes {self.data.metric.name}. '
                "Take another metric, or add scorer, the name of a scorer of scikit-learn"
            )
        return self.data.metric.scorer


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


def dataset_of(data: DataCard, home: Path | None) -> tuple[Dataset, str]:
    """Return the rows of a card, and a digest of their content and the version of the library."""
    source = data.data
    if source is None:
        raise TuningError(
            f'the data card "{data.name}" does not say where the data are, so nothing can be '
            "trained on them. Add data: {file: PATH} or data: {name: digits}"
        )
    if data.label_space.kind not in _TASKS:
        raise TuningError(
            f'the data card "{data.name}": labels are neither classes nor numbers, so that '
            "nothing here can be trained on them"
        )
    dataset = Dataset(
        name=source.name, task=_TASKS[data.label_space.kind], test_fraction=_TEST_FRACTION
    )
    library = f"scikit-learn {_version()}"
    if source.name is not None:
        return dataset, library
    path = Path(source.file or "").absolute()
    digest, label = _digest(path), data.label_space.column
    if path.suffix == ".npz":
        path = _as_csv(path, digest, home)
        label = label or ARRAY_LABEL
    left_out = left_out_columns(data)
    features = [one.name for one in data.columns if one.name not in (label, *left_out)]
    found = replace(
        dataset,
        data=str(path),
        label_col=label,
        feature_cols=features if left_out else None,
        delimiter=source.delimiter,
    )
    return found, f"{digest} {library}"


def _version() -> str:
    try:
        return importlib.metadata.version("scikit-learn")
    except importlib.metadata.PackageNotFoundError as error:
        raise ConfigurationError(NEEDS_EXTRA) from error


def left_out_columns(data: DataCard) -> list[str]:
    """Return the columns that are not trained on, since they hold no numbers."""
    others = [one for one in data.columns if one.name != data.label_space.column]
    if len(others) != data.features:  # a card without all columns
        return []
    return [one.name for one in others if one.type != "number"]


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
