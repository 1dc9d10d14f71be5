import couler
from couler import File


@couler.step
def read() -> File:
    with open("raw.csv", "w") as file:
        file.write("raw")
    return File("raw.csv")


@couler.step
def features(kind: str, table: File) -> File:
    with open("features.csv", "w") as file:
        file.write(kind)
    return File("features.csv")


@couler.step
def combine(parts: list[File]) -> File:
    with open("all.csv", "w") as file:
        for part in parts:
            file.write(open(part).read())
    return File("all.csv")


@couler.step
def train(table: File) -> float:
    return 0.75


with couler.Workflow("features") as wf:
    parts = features.partial(table=read()).map(kind=["time", "text", "image"])
    wf.output("score", train(combine(parts)))
