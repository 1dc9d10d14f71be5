"""Search for a regression of the diabetes data, over penalties, strengths and degrees."""

import dataclasses
import enum
import functools
import logging

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import couler

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("diabetes")

SEED = 11
FOLDS = 4
ALPHAS = (0.1, 1.0, 10.0)


class Penalty(enum.Enum):
    """Of which form the coefficients are held small."""

    RIDGE = "ridge"
    LASSO = "lasso"

    def regression(self, alpha: float) -> Ridge | Lasso:
        """Return a regression with this penalty."""
        if self is Penalty.RIDGE:
            return Ridge(alpha=alpha)
        return Lasso(alpha=alpha, max_iter=20_000)


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One point of the search."""

    penalty: Penalty
    alpha: float
    degree: int = 1

    def __str__(self) -> str:
        return f"{self.penalty.value} alpha={self.alpha:g} degree={self.degree}"


@functools.cache
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the features for training and test, then the targets."""
    values, target = load_diabetes(return_X_y=True)
    return tuple(train_test_split(values, target, test_size=0.25, random_state=SEED))


def pipeline(candidate: Candidate) -> Pipeline:
    """Return the unfitted model of a candidate."""
    return make_pipeline(
        StandardScaler(),
        PolynomialFeatures(candidate.degree, include_bias=False),
        candidate.penalty.regression(candidate.alpha),
    )


@couler.step
def candidates(degrees: list[int]) -> list[Candidate]:
    """Return all points of the search."""
    return [
        Candidate(penalty, alpha, degree)
        for penalty in Penalty
        for alpha in ALPHAS
        for degree in degrees
    ]


@couler.step
def error_of(candidate: Candidate) -> float:
    """Return the mean absolute error of a candidate by cross-validation."""
    values, _, target, _ = data()
    folds = KFold(FOLDS, shuffle=True, random_state=SEED)
    scores = cross_val_score(
        pipeline(candidate), values, target, cv=folds, scoring="neg_mean_absolute_error"
    )
    log.info("%s: %.3f", candidate, -scores.mean())
    return round(float(-scores.mean()), 4)


@couler.step(returns=couler.File)
def report(tried: list[Candidate], errors: list[float], file: str = "report.md") -> str:
    """Test the best candidate, write a report, and return its path."""
    best = min(range(len(tried)), key=errors.__getitem__)
    values, test_values, target, test_target = data()
    model = pipeline(tried[best]).fit(values, target)
    error = float(np.abs(model.predict(test_values) - test_target).mean())
    rows = [f"| {one} | {e:.3f} |" for e, one in sorted(zip(errors, map(str, tried), strict=True))]
    lines = ["| candidate | error |", "| --- | --- |", *rows, "", f"Test error: {error:.3f}"]
    with open(file, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return file


with couler.Workflow("diabetes") as wf:
    tried = candidates([1, 2])
    errors = error_of.map(tried)
    wf.output("report", report(tried, errors))


if __name__ == "__main__":
    tried = candidates([1, 2])
    path = report(tried, [error_of(one) for one in tried])
    with open(path, encoding="utf-8") as written:
        print(written.read())
