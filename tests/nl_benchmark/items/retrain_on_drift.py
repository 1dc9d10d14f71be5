import couler
from couler import File


@couler.step
def drift() -> float:
    return 0.4


@couler.step
def retrain() -> File:
    with open("model.txt", "w") as file:
        file.write("model")
    return File("model.txt")


@couler.step
def validate(model: File) -> None:
    print(open(model).read())


with couler.Workflow("drift", limit=0.3, schedule=couler.Schedule("0 * * * *")) as wf:
    with couler.when(drift() > wf.params.limit):
        validate(retrain())
