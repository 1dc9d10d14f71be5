"""Load data, split it, train a model and evaluate it: typed steps that pass files.

Data loading, preprocessing, training, evaluation; one model, scikit-learn.
"""

from typing import NamedTuple

import couler
from couler import File


class Parts(NamedTuple):
    train: File
    test: File


@couler.step(packages=["scikit-learn"], memory="1Gi")
def load_table() -> File:
    import numpy
    from sklearn.datasets import load_wine

    wine = load_wine()
    numpy.savez("wine.npz", x=wine.data, y=wine.target)
    return File("wine.npz")


@couler.step(packages=["scikit-learn"], memory="1Gi")
def split_rows(table: File, test_share: float) -> Parts:
    import numpy
    from sklearn.model_selection import train_test_split

    arrays = numpy.load(table)
    x_train, x_test, y_train, y_test = train_test_split(
        arrays["x"], arrays["y"], test_size=test_share, random_state=0, stratify=arrays["y"]
    )
    numpy.savez("train.npz", x=x_train, y=y_train)
    numpy.savez("test.npz", x=x_test, y=y_test)
    return Parts(File("train.npz"), File("test.npz"))


@couler.step(packages=["scikit-learn", "joblib"], cpu=2, memory="2Gi", timeout="30m")
def fit_forest(rows: File, trees: int) -> File:
    import joblib
    import numpy
    from sklearn.ensemble import RandomForestClassifier

    arrays = numpy.load(rows)
    model = RandomForestClassifier(n_estimators=trees, random_state=0)
    joblib.dump(model.fit(arrays["x"], arrays["y"]), "model.joblib")
    return File("model.joblib")


@couler.step(packages=["scikit-learn", "joblib"], memory="1Gi")
def measure(model: File, rows: File) -> float:
    import joblib
    import numpy

    arrays = numpy.load(rows)
    return float(joblib.load(model).score(arrays["x"], arrays["y"]))


with couler.Workflow("wine-forest", trees=100, test_share=0.25) as wf:
    parts = split_rows(load_table(), wf.params.test_share)
    model = fit_forest(parts.train, wf.params.trees)
    wf.output("accuracy", measure(model, parts.test))
    wf.output("model", model)
