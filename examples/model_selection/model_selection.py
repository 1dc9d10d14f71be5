"""Train five kinds of models on handwritten digits, test the best, and report.

    couler run examples/model_selection/model_selection.py
    couler compile examples/model_selection/model_selection.py -e argo

The data comes with scikit-learn, so nothing is downloaded. The report is one HTML file.
"""

from typing import NamedTuple

from report import Score, draw, write_report

import couler
from couler import File


class Split(NamedTuple):
    train: File
    validation: File
    test: File
    sizes: dict[str, int]


class Prepared(NamedTuple):
    train: File
    scaler: File


class Fitted(NamedTuple):
    model: File
    seconds: float


class Evaluation(NamedTuple):
    score: Score
    predictions: File


class Best(NamedTuple):
    name: str
    accuracy: float
    model: File
    predictions: File


learning = couler.step(
    packages=["scikit-learn"],
    cpu=1,
    memory="1Gi",
    timeout="10m",
    env={"OMP_NUM_THREADS": "1"},  # as many threads as CPUs asked for
)


@learning
def load() -> File:
    """Write the digits as a table: a row for each image of 8 by 8 pixels, the label last."""
    import numpy
    from sklearn.datasets import load_digits

    digits = load_digits()
    numpy.savetxt(
        "digits.csv",
        numpy.column_stack([digits.data, digits.target]),
        fmt="%d",
        delimiter=",",
        header=",".join([*digits.feature_names, "label"]),
        comments="",
    )
    return File("digits.csv")


@learning
def validate(table: File, min_rows: int, max_imbalance: float) -> dict[str, int]:
    """Check the table, and fail the run if it is not what training relies on."""
    import numpy

    with open(table) as file:
        header = file.readline().strip().split(",")
    values = numpy.genfromtxt(table, delimiter=",", skip_header=1, ndmin=2)  # no number: NaN
    pixels, (labels, counts) = values[:, :-1], numpy.unique(values[:, -1], return_counts=True)
    expected = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    checks = {
        "columns are 64 pixels and a label": header == [*expected, "label"],
        f"at least {min_rows} rows": len(values) >= min_rows,
        "no value is missing": not numpy.isnan(values).any(),
        "pixels are between 0 and 16": bool(((pixels >= 0) & (pixels <= 16)).all()),
        "labels are 0 to 9": labels.tolist() == list(range(10)),
        f"no class is {max_imbalance} times another": counts.max() < max_imbalance * counts.min(),
    }
    for check, holds in checks.items():
        print("ok    " if holds else "FAILED", check)
    if not all(checks.values()):
        raise SystemExit("the data is not fit for training")
    return {
        "images": len(values),
        "features": pixels.shape[1],
        "classes": len(labels),
        "smallest class": int(counts.min()),
        "largest class": int(counts.max()),
    }


@learning
def split(table: File, seed: int) -> Split:
    """Keep 20 % for choosing a model and 20 % for the final test, each class in proportion."""
    import numpy
    from sklearn.model_selection import train_test_split

    rows = numpy.loadtxt(table, delimiter=",", skiprows=1)
    rest, test = train_test_split(rows, test_size=0.2, random_state=seed, stratify=rows[:, -1])
    train, validation = train_test_split(
        rest, test_size=0.25, random_state=seed, stratify=rest[:, -1]
    )
    parts = {"train": train, "validation": validation, "test": test}
    for name, part in parts.items():
        numpy.savez(f"{name}.npz", x=part[:, :-1], y=part[:, -1].astype(int))
    sizes = {name: len(part) for name, part in parts.items()}
    return Split(File("train.npz"), File("validation.npz"), File("test.npz"), sizes)


@learning
def preprocess(data: File) -> Prepared:
    """Learn how to scale the pixels, from the training data alone."""
    import joblib
    import numpy
    from sklearn.preprocessing import StandardScaler

    arrays = numpy.load(data)
    scaler = StandardScaler().fit(arrays["x"])
    joblib.dump(scaler, "scaler.joblib")
    numpy.savez("scaled.npz", x=scaler.transform(arrays["x"]), y=arrays["y"])
    return Prepared(File("scaled.npz"), File("scaler.joblib"))


@learning
def train(kind: str, data: File, scaler: File, seed: int) -> Fitted:
    """Fit one kind of model, and keep it behind the scaler, so that it takes pixels as they are."""
    import time

    import joblib
    import numpy
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    kinds = {
        "logistic regression": LogisticRegression(max_iter=500),
        "support vectors": SVC(),
        "random forest": RandomForestClassifier(n_estimators=200, random_state=seed),
        "gradient boosting": HistGradientBoostingClassifier(max_iter=40, random_state=seed),
        "nearest neighbours": KNeighborsClassifier(n_neighbors=3),
    }
    arrays = numpy.load(data)
    start = time.perf_counter()
    model = kinds[kind].fit(arrays["x"], arrays["y"])
    seconds = time.perf_counter() - start
    joblib.dump(make_pipeline(joblib.load(scaler), model), "model.joblib")
    return Fitted(File("model.joblib"), round(seconds, 4))


@learning
def evaluate(name: str, model: File, data: File) -> Evaluation:
    """Measure a model on data that it has not seen."""
    import time

    import joblib
    import numpy
    from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
    from sklearn.preprocessing import label_binarize

    fitted, arrays = joblib.load(model), numpy.load(data)
    start = time.perf_counter()
    truth, predicted = arrays["y"], fitted.predict(arrays["x"])
    seconds = time.perf_counter() - start
    confidence = getattr(fitted, "decision_function", None) or fitted.predict_proba
    scores = confidence(arrays["x"])  # a column for each class
    numpy.savez("predictions.npz", truth=truth, predicted=predicted, scores=scores)
    score = Score(
        name,
        accuracy=round(float(accuracy_score(truth, predicted)), 4),
        f1=round(float(f1_score(truth, predicted, average="macro")), 4),
        auc=round(float(roc_auc_score(label_binarize(truth, classes=range(10)), scores)), 4),
        seconds=round(seconds, 4),
    )
    print(score)
    return Evaluation(score, File("predictions.npz"))


@couler.step
def pick(scores: list[Score], models: list[File], predictions: list[File]) -> Best:
    """Choose the most accurate model."""
    best = max(range(len(scores)), key=lambda index: scores[index].accuracy)
    return Best(scores[best].name, scores[best].accuracy, models[best], predictions[best])


@couler.step
def accept(name: str, accuracy: float) -> str:
    return f"Accepted: {name}, {accuracy:.1%} of the test images right"


@couler.step
def reject(name: str, accuracy: float, threshold: float) -> str:
    return f"Rejected: {name}, {accuracy:.1%} of the validation images right, below {threshold:.1%}"


KINDS = [
    "logistic regression",
    "support vectors",
    "random forest",
    "gradient boosting",
    "nearest neighbours",
]

with couler.Workflow(
    "model-selection", seed=7, threshold=0.95, min_rows=1000, max_imbalance=1.5
) as wf:
    table = load()
    facts = validate(table, wf.params.min_rows, wf.params.max_imbalance)
    data = split(table, wf.params.seed)
    facts >> data  # no training on data that is not valid
    ready = preprocess(data.train)
    fitted = train.partial(data=ready.train, scaler=ready.scaler, seed=wf.params.seed).map(KINDS)
    compared = evaluate.partial(data=data.validation).map(name=KINDS, model=fitted.model)
    best = pick(compared.score, fitted.model, compared.predictions)
    with couler.when(best.accuracy >= wf.params.threshold) as good_enough:
        final = evaluate.with_options(name="final-test")(best.name, best.model, data.test)
        accepted = accept(best.name, final.score.accuracy)
    with good_enough.otherwise():
        rejected = reject(best.name, best.accuracy, wf.params.threshold)
    verdict = couler.first_of(accepted, rejected)
    predictions = couler.first_of(final.predictions, best.predictions)
    report = write_report(
        verdict=verdict,
        scores=compared.score,
        seconds=fitted.seconds,
        best=best.name,
        final=couler.or_else(final.score, None),
        plots=draw(compared.score, best.name, predictions),
        data=facts,
        parts=data.sizes,
        seed=wf.params.seed,
        threshold=wf.params.threshold,
        run=couler.text("{}, {}", wf.run_facts.id, wf.run_facts.logical_date),
    )
    wf.output("verdict", verdict)
    wf.output("model", best.model)
    wf.output("report", report)
