import couler
from couler import File


@couler.step
def load() -> File:
    with open("table.csv", "w") as file:
        file.write("a,b\n1,\n")
    return File("table.csv")


@couler.step
def count_missing(table: File) -> int:
    with open(table) as file:
        return sum(line.rstrip().endswith(",") for line in file)


@couler.step
def train(table: File) -> None:
    print("trained")


@couler.step
def clean(table: File) -> None:
    print("cleaned")


with couler.Workflow("quality"):
    table = load()
    with couler.when(count_missing(table) == 0) as complete:
        train(table)
    with complete.otherwise():
        clean(table)
