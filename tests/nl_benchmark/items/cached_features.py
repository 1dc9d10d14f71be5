import couler
from couler import File


@couler.step(cache=True)
def features(dataset: str) -> File:
    with open("features.csv", "w") as file:
        file.write(f"name\n{dataset}\n")
    return File("features.csv")


@couler.step
def count(table: File) -> int:
    with open(table) as lines:
        return sum(1 for _ in lines)


with couler.Workflow("features", dataset="clicks") as wf:
    wf.output("lines", count(features(wf.params.dataset)))
