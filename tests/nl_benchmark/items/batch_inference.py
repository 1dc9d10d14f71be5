import couler
from couler import File


@couler.step
def load_model() -> File:
    with open("model.txt", "w") as file:
        file.write("model")
    return File("model.txt")


@couler.step
def list_batches() -> list[str]:
    return ["a", "b", "c"]


@couler.step
def predict(model: File, batch: str) -> int:
    return 10


@couler.step
def total(rows: list[int]) -> int:
    return sum(rows)


with couler.Workflow("inference") as wf:
    rows = predict.partial(model=load_model()).map(batch=list_batches())
    wf.output("rows", total(rows))
