import couler
from couler import File


@couler.step
def prepare() -> File:
    with open("data.txt", "w") as file:
        file.write("1 0 1")
    return File("data.txt")


@couler.step
def fit_forest(data: File) -> list[float]:
    return [0.9, 0.2, 0.7]


@couler.step
def fit_network(data: File) -> list[float]:
    return [0.8, 0.1, 0.9]


@couler.step
def blend(forest: list[float], network: list[float]) -> list[float]:
    return [(one + other) / 2 for one, other in zip(forest, network)]


@couler.step
def evaluate(predictions: list[float]) -> float:
    return sum(predictions) / len(predictions)


with couler.Workflow("ensemble"):
    data = prepare()
    evaluate(blend(fit_forest(data), fit_network(data)))
