"""Features are made from two sources at the same time, then joined for training.

Feature engineering, join, merge of tables, parallel preprocessing.
"""

import couler
from couler import File


@couler.step
def text_features(column: str) -> File:
    with open("text.csv", "w") as file:
        file.write(f"{column}_length\n12\n")
    return File("text.csv")


@couler.step
def number_features(columns: list[str]) -> File:
    with open("numbers.csv", "w") as file:
        file.write(",".join(columns) + "\n1,2\n")
    return File("numbers.csv")


@couler.step
def join_features(left: File, right: File) -> File:
    with open(left) as first, open(right) as second, open("joined.csv", "w") as joined:
        for one, other in zip(first, second, strict=True):
            joined.write(f"{one.strip()},{other.strip()}\n")
    return File("joined.csv")


with couler.Workflow("features") as wf:
    joined = join_features(text_features("title"), number_features(["price", "stock"]))
    wf.output("features", joined)
