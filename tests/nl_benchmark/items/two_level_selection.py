import couler


@couler.step
def train(data: str, model: str) -> float:
    return 0.9 if model == "forest" else 0.8


@couler.step
def better(accuracies: list[float]) -> float:
    return max(accuracies)


@couler.step
def mean(accuracies: list[float]) -> float:
    return sum(accuracies) / len(accuracies)


def best_for(data):
    return better(train.partial(data=data).map(model=["tree", "forest"]))


with couler.Workflow("two-levels"):
    mean(couler.map(best_for, ["wine", "digits"]))
