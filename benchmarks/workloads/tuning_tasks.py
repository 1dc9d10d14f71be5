"""What is tuned in benchmarks/tuning.py: data, models, spaces, and how a setting is trained."""

from __future__ import annotations

import math
import typing as t
import warnings
from dataclasses import dataclass, field

from couler.tuning.cards import DataCard, ModelCard, Training
from couler.tuning.drawing import draw_array_card
from couler.tuning.space import SearchSpace, Setting, key_of, parse_space

DATA = ("breast_cancer", "diabetes", "digits", "wine")
MODELS = ("boosting", "network")

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
}
"""The defaults are those of scikit-learn 1.6 and later, and so is all that is not searched for."""

_NAMES = {"boosting": "GradientBoosting", "network": "MLP"}
_STRUCTURES = {
    "boosting": "gradient boosting of decision trees",
    "network": "a small neural network with fully connected layers, trained by Adam",
}
_SCALED = "Inputs are brought to mean 0 and variance 1 by the rows trained on"
"""Of the network; and for regression its target as well, of every method, the default too."""

_TEST_FRACTION = 0.25


@dataclass
class Task:
    """A model on rows of a set of scikit-learn, a part of which only judges at the end.

    What one method has had trained is known to the next, which pays a training for it all the same.
    """

    data: str
    model: str
    seed: int
    folds: int
    known: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
        from sklearn.model_selection import train_test_split

        loaders: dict[str, t.Any] = {
            "breast_cancer": load_breast_cancer,
            "diabetes": load_diabetes,
            "digits": load_digits,
            "wine": load_wine,
        }
        x, y = loaders[self.data](return_X_y=True)
        self.is_regression = self.data == "diabetes"
        self.rows = train_test_split(
            x,
            y,
            test_size=_TEST_FRACTION,
            random_state=self.seed,
            stratify=None if self.is_regression else y,
        )

    @property
    def metric(self) -> str:
        return "r2" if self.is_regression else "accuracy"

    @property
    def space(self) -> SearchSpace:
        return parse_space(SPACES[self.model])

    @property
    def estimator(self) -> str:
        return _NAMES[self.model] + ("Regressor" if self.is_regression else "Classifier")

    def cards(self) -> tuple[DataCard, ModelCard]:
        x, _, y, _ = self.rows  # nothing of the rows held out is told
        data = draw_array_card(x, y, name=self.data, metric=self.metric)
        target = ", and the target as well" if self.is_regression else ""
        model = ModelCard(
            name=self.estimator,
            structure=_STRUCTURES[self.model],
            description=f"{_SCALED}{target}." if self.model == "network" else "",
            loss="squared_error" if self.is_regression else "log_loss",
            training=Training(estimator=self.estimator, scale=self.model == "network"),
        )
        return data, model

    def train(self, setting: Setting) -> float:
        """Return the mean score of a setting over folds of the rows that are not held out.

        One whose training fails has a score below all.
        """
        from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

        key = key_of(setting)
        if key not in self.known:
            kind: t.Any = KFold if self.is_regression else StratifiedKFold
            folds = kind(self.folds, shuffle=True, random_state=self.seed)
            x, _, y, _ = self.rows
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of trainings that have not converged
                try:
                    found = cross_val_score(self._made(setting), x, y, cv=folds).mean()
                except ValueError:  # it fails on all folds, or gives no number
                    found = math.nan
            self.known[key] = float(found) if math.isfinite(found) else -math.inf
        return self.known[key]

    def judge(self, setting: Setting) -> float:
        """Return the score of a setting on the rows held out, trained on all others."""
        x, test_x, y, test_y = self.rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(self._made(setting).fit(x, y).score(test_x, test_y))

    def _made(self, setting: Setting) -> t.Any:
        """Return the estimator, with its own scaling."""
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.utils import all_estimators

        made = dict(all_estimators())[self.estimator](**setting, random_state=self.seed)
        if self.model != "network":
            return made
        scaled = make_pipeline(StandardScaler(), made)
        if not self.is_regression:
            return scaled
        return TransformedTargetRegressor(scaled, transformer=StandardScaler())
