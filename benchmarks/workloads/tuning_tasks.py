"""What is tuned in benchmarks/tuning.py: data, models, spaces, and how a setting is trained."""

from __future__ import annotations

import math
import random
import typing as t
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from couler.tuning.cards import DataCard, ModelCard
from couler.tuning.drawing import columns_of_arrays, draw_columns_card
from couler.tuning.estimators import draw_model_card, estimator_class
from couler.tuning.outcome import RealTraining
from couler.tuning.space import Parameter, SearchSpace, Setting, key_of, parse_space

TASKS = (
    *(
        (data, model)
        for data in ("breast_cancer", "diabetes", "digits", "wine")
        for model in ("boosting", "network")
    ),
    ("generated", "kernel"),
)

SPACES = {
    "boosting": """
parameters:
  learning_rate: {low: 0.01, high: 1.0, log: true, default: 0.1}
  n_estimators: {type: int, low: 20, high: 120, log: true, default: 100}
  max_depth: {type: int, low: 1, high: 4, default: 3}
  subsample: {low: 0.3, high: 1.0, default: 1.0}
  max_features: {values: [null, sqrt], default: null}
""",
    "network": """
parameters:
  hidden_layer_sizes: {values: [[8], [32], [100], [32, 16]], default: [100]}
  learning_rate_init: {low: 0.0001, high: 0.3, log: true, default: 0.001}
  alpha: {low: 0.000001, high: 10.0, log: true, default: 0.0001}
  batch_size: {values: [auto, 32, 64], default: auto}
  activation: {values: [relu, tanh], default: relu}
""",
    "kernel": """
parameters:
  kernel: {values: [linear, rbf, laplacian], default: linear}
  alpha: {low: 0.0001, high: 100.0, log: true, default: 1.0}
  gamma: {low: 0.001, high: 1000.0, log: true, when: {kernel: [rbf, laplacian]}}
""",
}
"""The defaults are those of scikit-learn 1.6 and later, and so is all that is not searched for."""

_NAMES = {"boosting": "GradientBoosting", "network": "MLP", "kernel": "KernelRidge"}
_STANDARDIZED = (
    "The target is standardized by the rows trained on, and predictions are scaled back."
)
"""Of the network for regression, for every method, the default too."""

_TEST_FRACTION = 0.25

# A Gaussian process with the kernel exp(-GAMMA |x - x'|^2) and variance 1, seen with noise. Kernel
# ridge regression with this kernel and alpha = NOISE is its posterior mean, which no predictor has
# a smaller expected error than (Rasmussen and Williams 2006, equation 2.25).
GAMMA, NOISE = 6.0, 0.3
_GENERATED_ROWS, _GENERATED_TEST_ROWS, _GENERATED_COLUMNS = 200, 500, 3


class Rows(t.NamedTuple):
    """The rows of a task; those of the test judge once at the end."""

    x: t.Any
    test_x: t.Any
    y: t.Any
    test_y: t.Any
    names: list[str]
    classes: list[str]


@dataclass
class Task:
    """A model on rows of a set of scikit-learn or of a generated one.

    What one method has had trained is known to the next, which pays a training for it all the same.
    """

    data: str
    model: str
    seed: int
    folds: int
    known: dict[str, RealTraining] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.is_regression = self.data in ("diabetes", "generated")
        self.rows = _generated(self.seed) if self.data == "generated" else self._loaded()
        self.estimator_class = estimator_class(self.estimator)

    def _loaded(self) -> Rows:
        from sklearn import datasets
        from sklearn.model_selection import train_test_split

        bunch = getattr(datasets, f"load_{self.data}")()
        parts = train_test_split(
            bunch.data,
            bunch.target,
            test_size=_TEST_FRACTION,
            random_state=self.seed,
            stratify=None if self.is_regression else bunch.target,
        )
        classes = [] if self.is_regression else [str(one) for one in bunch.target_names]
        return Rows(*parts, [str(one) for one in bunch.feature_names], classes)

    @property
    def space(self) -> SearchSpace:
        return parse_space(SPACES[self.model])

    @property
    def estimator(self) -> str:
        if self.model == "kernel":
            return _NAMES[self.model]
        return _NAMES[self.model] + ("Regressor" if self.is_regression else "Classifier")

    @property
    def optimum(self) -> dict[str, t.Any] | None:
        """The best of all settings, where it is known."""
        if self.data != "generated":
            return None
        return {"kernel": "rbf", "alpha": NOISE, "gamma": GAMMA}

    def cards(self) -> tuple[DataCard, ModelCard]:
        rows = self.rows  # without the rows held out
        labels = rows.y if self.is_regression else _named(rows)
        name = "data" if self.data == "generated" else self.data
        metric = "r2" if self.is_regression else "accuracy"
        columns = columns_of_arrays(rows.x, labels, rows.names, "y")
        data = draw_columns_card(columns, None, name, metric, None, name)
        kind = "" if self.is_regression else "stratified "
        scoring = (
            f"{metric}: the mean over {kind}{self.folds}-fold cross-validation of the rows, by the "
            "model as it is when training ends"
        )
        model = draw_model_card(self.estimator)
        standardizes = self.model == "network" and self.is_regression
        return (
            data.model_copy(update={"scoring": scoring}),
            model.model_copy(update={"description": _STANDARDIZED if standardizes else ""}),
        )

    def train(self, setting: Setting) -> float:
        """Return the mean score over folds; one whose training fails has a score below all."""
        found = self.training(setting).mean
        return -math.inf if found is None else found

    def train_all(self, settings: Mapping[str, Setting]) -> dict[str, RealTraining]:
        return {name: self.training(setting) for name, setting in settings.items()}

    def training(self, setting: Setting) -> RealTraining:
        """Return the scores of a setting over folds of the rows that are not held out."""
        from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

        key = key_of(setting)
        if key not in self.known:
            kind: t.Any = KFold if self.is_regression else StratifiedKFold
            folds = kind(self.folds, shuffle=True, random_state=self.seed)
            rows, made = self.rows, self._made(setting)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of trainings that have not converged
                try:
                    scores = cross_val_score(made, rows.x, rows.y, cv=folds, error_score="raise")
                    self.known[key] = RealTraining(scores=tuple(map(float, scores)))
                except ValueError as error:
                    self.known[key] = RealTraining(problem=f"{error}"[:500])
        return self.known[key]

    def judge(self, setting: Setting) -> float:
        """Return the score of a setting on the rows held out, trained on all others."""
        rows = self.rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(self._made(setting).fit(rows.x, rows.y).score(rows.test_x, rows.test_y))

    def _made(self, setting: Setting) -> t.Any:
        """Return the estimator, with its own scaling."""
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        seed = {} if self.model == "kernel" else {"random_state": self.seed}
        made = self.estimator_class(**setting, **seed)
        if self.model != "network":
            return made
        scaled = make_pipeline(StandardScaler(), made)
        if not self.is_regression:
            return scaled
        return TransformedTargetRegressor(scaled, transformer=StandardScaler())


def _named(rows: Rows) -> t.Any:
    import numpy as np

    return np.array(rows.classes)[rows.y]


def _generated(seed: int) -> Rows:
    """Return rows of a Gaussian process over a cube, with noise."""
    import numpy as np

    chance = np.random.default_rng(seed)
    count = _GENERATED_ROWS + _GENERATED_TEST_ROWS
    x = chance.uniform(size=(count, _GENERATED_COLUMNS))
    distances = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    factor = np.linalg.cholesky(np.exp(-GAMMA * distances) + 1e-8 * np.eye(count))
    y = factor @ chance.normal(size=count) + math.sqrt(NOISE) * chance.normal(size=count)
    names = [f"x{number + 1}" for number in range(_GENERATED_COLUMNS)]
    rows = _GENERATED_ROWS
    return Rows(x[:rows], x[rows:], y[:rows], y[rows:], names, [])


def draw(space: SearchSpace, count: int, seed: int, known: set[str]) -> list[dict[str, t.Any]]:
    """Return new settings that are drawn, ranges perhaps evenly in the logarithm."""
    chance = random.Random(seed)
    found: dict[str, dict[str, t.Any]] = {}
    while len(found) < count:
        setting: dict[str, t.Any] = {}
        for name, one in space.parameters.items():
            if space.is_there(one, setting):
                setting[name] = _drawn(one, chance)
        if (key := key_of(setting)) not in known:
            found.setdefault(key, setting)
    return [*found.values()]


def _drawn(one: Parameter, chance: random.Random) -> t.Any:
    if one.values is not None:
        return chance.choice(one.values)
    low, high = one.low or 0.0, one.high or 0.0
    if one.log:
        value = math.exp(chance.uniform(math.log(low), math.log(high)))
    else:
        value = chance.uniform(low, high)
    return round(value) if one.type == "int" else min(max(float(f"{value:.6g}"), low), high)
