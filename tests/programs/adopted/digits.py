"""Cluster handwritten digits, and see how well clusters agree with what was written."""

import os
import pickle
import warnings
from collections import Counter
from typing import Any, TypedDict

import numpy as np
from sklearn import datasets, metrics
from sklearn.base import ClusterMixin
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA

import couler

try:
    from sklearn.cluster import HDBSCAN
except ImportError:  # scikit-learn before 1.3
    HDBSCAN = None

warnings.filterwarnings("ignore", category=FutureWarning)

FOLDER = os.path.join(os.curdir, "digits")
LIMIT = 900
DIGITS = range(10)
SEEDS = {"kmeans": 3}


class Quality(TypedDict):
    """Measures of a clustering."""

    clusters: int
    purity: float
    agreement: float


def dump(name: str, what: Any) -> str:
    """Write an object, and return the path of its file."""
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as file:
        pickle.dump(what, file)
    return path


def load(path: str) -> Any:
    """Read what `dump` wrote."""
    with open(path, "rb") as file:
        return pickle.load(file)


def method(name: str, clusters: int) -> ClusterMixin:
    """Return a clustering by its name."""
    if name == "kmeans":
        return KMeans(clusters, n_init=4, random_state=SEEDS.get(name, 0))
    if name == "density" and HDBSCAN is not None:
        return HDBSCAN(min_cluster_size=len(DIGITS))
    return AgglomerativeClustering(clusters)


@couler.step(returns=couler.File)
def embed(components: int, limit: int = LIMIT) -> str:
    """Reduce the images to a few numbers each."""
    images, _ = datasets.load_digits(return_X_y=True)
    return dump("embedding.pickle", PCA(components, random_state=0).fit_transform(images[:limit]))


@couler.step(returns=couler.File)
def cluster(embedding: str, name: str, clusters: int = len(DIGITS)) -> str:
    """Give each image the number of a cluster."""
    return dump(f"{name}.pickle", method(name, clusters).fit_predict(load(embedding)))


def purity(labels: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of images that are of the commonest digit of their cluster."""
    common = [Counter(truth[labels == one]).most_common(1)[0][1] for one in np.unique(labels)]
    return sum(common) / len(truth)


@couler.step
def measure(labels: str) -> Quality:
    """Compare clusters with the digits that were written."""
    found = load(labels)
    truth = datasets.load_digits().target[: len(found)]
    return {
        "clusters": len(np.unique(found)),
        "purity": round(float(purity(found, truth)), 4),
        "agreement": round(float(metrics.adjusted_rand_score(truth, found)), 4),
    }


@couler.step
def best(names: list[str], qualities: list[Quality]) -> str:
    """Return the name of the method that agrees best."""
    return max(zip(qualities, names, strict=True), key=lambda pair: pair[0]["agreement"])[1]


with couler.Workflow("digits") as wf:
    METHODS = ["kmeans", "tree", "density"]
    embedding = embed(12)
    labels = cluster.partial(embedding=embedding).map(name=METHODS)
    wf.output("best", best(METHODS, measure.map(labels)))


if __name__ == "__main__":
    methods = ["kmeans", "tree", "density"]
    embedding = embed(12)
    measured = [measure(cluster(embedding, one)) for one in methods]
    for one, quality in zip(methods, measured, strict=True):
        print(one, quality)
    print("best:", best(methods, measured))
