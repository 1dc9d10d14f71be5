"""Train several kinds of models on the same data at once, compare them, and select the best.

Model application, training, validation, comparison and selection, by a map over the kinds.
"""

from typing import NamedTuple

import couler
from couler import File


class Fitted(NamedTuple):
    kind: str
    score: float
    model: File


class Chosen(NamedTuple):
    kind: str
    score: float
    model: File


@couler.step(packages=["scikit-learn"])
def prepare() -> File:
    import numpy
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    numpy.savez("data.npz", x=data.data, y=data.target)
    return File("data.npz")


@couler.step(packages=["scikit-learn", "joblib"], cpu=1, memory="2Gi")
def fit_kind(kind: str, data: File) -> Fitted:
    import joblib
    import numpy
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    kinds = {
        "boosting": GradientBoostingClassifier(),
        "forest": RandomForestClassifier(),
        "neighbours": KNeighborsClassifier(),
    }
    arrays = numpy.load(data)
    score = cross_val_score(kinds[kind], arrays["x"], arrays["y"], cv=5).mean()
    joblib.dump(kinds[kind].fit(arrays["x"], arrays["y"]), "model.joblib")
    return Fitted(kind, float(score), File("model.joblib"))


@couler.step
def choose(kinds: list[str], scores: list[float], models: list[File]) -> Chosen:
    best = max(range(len(scores)), key=lambda index: scores[index])
    return Chosen(kinds[best], scores[best], models[best])


with couler.Workflow("best-of-three") as wf:
    data = prepare()
    fitted = fit_kind.partial(data=data).map(kind=["boosting", "forest", "neighbours"])
    best = choose(fitted.kind, fitted.score, fitted.model)
    wf.output("kind", best.kind)
    wf.output("score", best.score)
    wf.output("model", best.model)
