"""A program with more than ten different mistakes, which one run of `couler validate` reports."""

import couler
from couler import File


@couler.step
def load(rows: int) -> File:
    with open("x", "w") as f:
        f.write("1" * rows)
    return File("x")


@couler.step(memory="1Gb", timeout="20 parsecs")
def train(data: File, epochs: int = 3) -> float:
    return 0.5


@couler.step
def deploy(score: float) -> None:
    print(score)


with couler.Workflow("Ten_Mistakes", schedule="61 * * * *", rows=10) as wf:
    data = load(rows="many")
    more = load()
    score = train(dta=data)
    score2 = train(data, epochs=3, image="")
    with couler.when(score > 0.9):
        s3 = train(data, epochs=5)
    deploy(s3)
    deploy(wf.params.rowz)
    a = couler.run_container(image="busybox", command=["true"], step_name="a b")
    b = couler.run_container(image="busybox", command=["true"], step_name="b", env={"1X": "2"})
    c = couler.run_container(image="busybox", command=["true"], step_name="c", cpu="lots")
    b >> c
    c >> b
