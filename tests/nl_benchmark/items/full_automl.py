from typing import NamedTuple

import couler
from couler import File

MODELS = ["logistic", "svm", "forest", "boosting"]


class Split(NamedTuple):
    train: File
    test: File


class Best(NamedTuple):
    name: str
    score: float


@couler.step(cache=True)
def split(dataset: str) -> Split:
    for name in ("train", "test"):
        with open(f"{name}.txt", "w") as file:
            file.write(f"{dataset} for {name}")
    return Split(File("train.txt"), File("test.txt"))


@couler.step(cpu=2, timeout="20m", retry=2)
def train(model: str, data: File) -> File:
    with open("model.txt", "w") as file:
        file.write(model)
    return File("model.txt")


@couler.step
def evaluate(model: File, data: File) -> float:
    with open(model) as file:
        return 0.9 + len(file.read()) / 100


@couler.step
def pick(names: list[str], scores: list[float]) -> Best:
    best = max(range(len(scores)), key=lambda index: scores[index])
    return Best(names[best], scores[best])


@couler.step
def deploy(name: str, score: float) -> None:
    print("deployed", name, score)


@couler.step
def report(status: str) -> None:
    print("the run", status)


with couler.Workflow("automl", dataset="digits", schedule=couler.Schedule("0 4 * * 0")) as wf:
    data = split(wf.params.dataset)
    models = train.partial(data=data.train).map(model=MODELS)
    scores = evaluate.partial(data=data.test).map(model=models)
    best = pick(MODELS, scores)
    with couler.when(best.score > 0.95):
        deploy(best.name, best.score)
    wf.on_exit(lambda: report(wf.run_facts.status), name="report")
