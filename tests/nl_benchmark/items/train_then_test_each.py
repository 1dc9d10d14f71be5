import couler
from couler import File


@couler.step
def train(rate: float) -> File:
    with open("model.txt", "w") as file:
        file.write(str(rate))
    return File("model.txt")


@couler.step
def test(model: File) -> float:
    with open(model) as file:
        return 1 - float(file.read())


@couler.step
def best(accuracies: list[float]) -> float:
    return max(accuracies)


with couler.Workflow("rates"):
    accuracies = couler.map(lambda rate: test(train(rate)), [0.1, 0.01, 0.001])
    best(accuracies)
