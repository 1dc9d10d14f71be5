import couler
from couler import File


@couler.step
def tokenize() -> File:
    with open("tokens.txt", "w") as file:
        file.write("good bad fine")
    return File("tokens.txt")


@couler.step
def train(model: str, tokens: File) -> float:
    return {"BERT": 0.91, "LSTM": 0.84}[model]


@couler.step
def better(accuracies: list[float]) -> float:
    return max(accuracies)


@couler.step
def deploy(accuracy: float) -> None:
    print("deployed a model with accuracy", accuracy)


with couler.Workflow("sentiment") as wf:
    best = better(train.partial(tokens=tokenize()).map(model=["BERT", "LSTM"]))
    with couler.when(best >= 0.85):
        deploy(best)
