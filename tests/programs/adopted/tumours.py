"""Compare classifiers on the breast cancer data of scikit-learn and keep the best one."""

import json
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import couler

SEED = 7
TEST_SHARE = 0.3
OUT = Path("out")

MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "neighbors": make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=7)),
    "forest": RandomForestClassifier(n_estimators=50, random_state=SEED),
}


class Tables(NamedTuple):
    """The files of a split data set."""

    train: Path
    test: Path


class Scores(NamedTuple):
    """How well a model does on the test data."""

    accuracy: float
    f1: float


def write_table(name: str, values: np.ndarray, target: np.ndarray) -> Path:
    """Write features and target into one file."""
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.npz"
    np.savez_compressed(path, values=values, target=target)
    return path


def read_table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read what `write_table` wrote."""
    with np.load(path) as table:
        return table["values"], table["target"]


@couler.step
def split(test_share: float = TEST_SHARE) -> Tables:
    """Split the data into two files, with the same share of each class."""
    values, target = load_breast_cancer(return_X_y=True)
    parts = train_test_split(
        values, target, test_size=test_share, stratify=target, random_state=SEED
    )
    train_values, test_values, train_target, test_target = parts
    return Tables(
        write_table("train", train_values, train_target),
        write_table("test", test_values, test_target),
    )


@couler.step
def train(name: str, table: Path) -> Path:
    """Fit one of the models and write it to a file."""
    OUT.mkdir(exist_ok=True)
    model = MODELS[name].fit(*read_table(table))
    path = OUT / f"{name}.joblib"
    joblib.dump(model, path)
    return path


@couler.step
def evaluate(model: Path, table: Path) -> Scores:
    """Score a fitted model on other data."""
    values, target = read_table(table)
    predicted = joblib.load(model).predict(values)
    return Scores(
        accuracy=round(float(accuracy_score(target, predicted)), 4),
        f1=round(float(f1_score(target, predicted)), 4),
    )


@couler.step
def choose(names: list[str], scores: list[Scores]) -> str:
    """Return the name of the model with the best F1 score; of equals, the first."""
    ranked = sorted(zip(names, scores, strict=True), key=lambda pair: -pair[1].f1)
    print(json.dumps({name: score._asdict() for name, score in ranked}, indent=2))
    return ranked[0][0]


def main() -> None:
    tables = split()
    names = list(MODELS)
    models = [train(name, tables.train) for name in names]
    scores = [evaluate(model, tables.test) for model in models]
    print("best:", choose(names, scores))


with couler.Workflow("tumours", defaults=couler.StepDefaults(memory="1Gi")) as wf:
    tables = split()
    models = train.partial(table=tables.train).map(name=list(MODELS))
    scores = evaluate.partial(table=tables.test).map(model=models)
    wf.output("best", choose(list(MODELS), scores))


if __name__ == "__main__":
    main()
