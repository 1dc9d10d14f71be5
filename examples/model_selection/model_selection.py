"""Train several models on handwritten digits, and publish the best if it is good enough.

    couler run examples/model_selection/model_selection.py
    couler compile examples/model_selection/model_selection.py -e argo

The data is scikit-learn's bundled digits, so nothing is downloaded.
"""

from typing import NamedTuple

import couler
from couler import File


class Split(NamedTuple):
    train: File
    test: File


class Score(NamedTuple):
    accuracy: float
    f1: float


class Best(NamedTuple):
    name: str
    accuracy: float
    table: str


MODELS = ["logistic-regression", "svm", "random-forest", "k-nearest-neighbours", "naive-bayes"]

sklearn_step = couler.step(packages=["scikit-learn"], cpu=1, memory="1Gi", timeout="10m")


@sklearn_step
def split(test_fraction: float, seed: int) -> Split:
    """Load the digits, and keep a part of them aside for the evaluation."""
    import numpy
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=test_fraction, random_state=seed, stratify=labels
    )
    numpy.savez("train.npz", x=train_x, y=train_y)
    numpy.savez("test.npz", x=test_x, y=test_y)
    return Split(File("train.npz"), File("test.npz"))


@sklearn_step
def train(model: str, data: File, seed: int) -> File:
    """Fit one kind of model, scaled inputs first."""
    import pickle

    import numpy
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    kinds = {
        "logistic-regression": LogisticRegression(max_iter=500),
        "svm": SVC(gamma="scale"),
        "random-forest": RandomForestClassifier(n_estimators=200, random_state=seed),
        "k-nearest-neighbours": KNeighborsClassifier(n_neighbors=3),
        "naive-bayes": GaussianNB(),
    }
    arrays = numpy.load(data)
    fitted = make_pipeline(StandardScaler(), kinds[model]).fit(arrays["x"], arrays["y"])
    with open("model.pickle", "wb") as file:
        pickle.dump(fitted, file)
    return File("model.pickle")


@sklearn_step
def evaluate(model: File, data: File) -> Score:
    """Measure a fitted model on the data that was kept aside."""
    import pickle

    import numpy
    from sklearn.metrics import accuracy_score, f1_score

    with open(model, "rb") as file:
        fitted = pickle.load(file)
    arrays = numpy.load(data)
    predicted = fitted.predict(arrays["x"])
    return Score(
        accuracy=round(float(accuracy_score(arrays["y"], predicted)), 4),
        f1=round(float(f1_score(arrays["y"], predicted, average="macro")), 4),
    )


@couler.step
def pick(names: list[str], accuracies: list[float], f1s: list[float]) -> Best:
    """Print the metrics of all models, and choose the most accurate."""
    rows = sorted(zip(accuracies, f1s, names, strict=True), reverse=True)
    lines = [f"{'model':<24}{'accuracy':>10}{'f1':>10}"]
    lines += [f"{name:<24}{accuracy:>10.4f}{f1:>10.4f}" for accuracy, f1, name in rows]
    table = "\n".join(lines)
    print(table)
    accuracy, _, name = rows[0]
    return Best(name, accuracy, table)


@couler.step
def publish(name: str, accuracy: float) -> str:
    message = f"published {name}, accuracy {accuracy:.4f}"
    print(message)
    return message


@couler.step
def reject(name: str, accuracy: float) -> str:
    message = f"no model is good enough: the best is {name}, accuracy {accuracy:.4f}"
    print(message)
    return message


with couler.Workflow("model-selection", test_fraction=0.3, threshold=0.95, seed=7) as wf:
    data = split(wf.params.test_fraction, wf.params.seed)
    models = train.partial(data=data.train, seed=wf.params.seed).map(model=MODELS)
    scores = evaluate.partial(data=data.test).map(model=models)
    best = pick(MODELS, scores.accuracy, scores.f1)
    with couler.when(best.accuracy > wf.params.threshold) as good_enough:
        published = publish(best.name, best.accuracy)
    with good_enough.otherwise():
        rejected = reject(best.name, best.accuracy)
    wf.output("best", best.name)
    wf.output("metrics", best.table)
    wf.output("outcome", couler.first_of(published, rejected))
