import couler
from couler import File


@couler.step
def download() -> File:
    with open("data.csv", "w") as file:
        file.write("1,2\n")
    return File("data.csv")


@couler.step
def clean(data: File) -> File:
    with open("clean.csv", "w") as file:
        file.write(open(data).read())
    return File("clean.csv")


@couler.step
def train(data: File) -> None:
    print(open(data).read())


with couler.Workflow("pipeline"):
    train(clean(download()))
