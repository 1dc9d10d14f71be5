import couler
from couler import File


@couler.step(cpu=4, memory="16Gi")
def make_table() -> File:
    with open("table.csv", "w") as file:
        file.write("x\n" * 10)
    return File("table.csv")


@couler.step
def size(table: File) -> int:
    import os

    return os.path.getsize(table)


with couler.Workflow("table"):
    size(make_table())
