"""Functions with files and lists: maps over numbers, and files and lists that maps give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import couler
from couler import Directory, File
from tests.corpus.build import Expected


@dataclass
class Grid:
    depths: list[int]
    rates: list[float]
    names: list[str]
    none: list[int]


@dataclass
class Trial:
    depth: int
    score: float
    good: bool
    model: File


@dataclass
class Point:
    name: str
    x: float
    y: int


@dataclass
class Whole:
    point: Point
    note: str


@couler.step
def prepare(rows: int) -> File:
    Path("data.csv").write_text("x\n" * rows)
    Path("data.csv").chmod(0o400)
    return File("data.csv")


@couler.step
def folder(text: str) -> Directory:
    Path("made/inner").mkdir(parents=True)
    Path("made/inner/text").write_text(text)
    Path("made/link").symlink_to("inner/text")
    return Directory("made")


@couler.step
def grid() -> Grid:
    return Grid([3, 2**64 + 1, -1], [1e-05, 0.1, 1e22], ["a $(HOME) $$", "{{b}}", "'é'"], [])


@couler.step
def train(data: File, depth: int, rate: float) -> Trial:
    with open(data, "a") as own:  # the copy of each is its own
        own.write("x\n")
    count = len(Path(data).read_text().split())
    Path("model").write_text(f"{depth} {rate} {count}")
    return Trial(depth, rate * 2, rate < 0.1, File("model"))


@couler.step
def shout(name: str) -> str:
    return name.upper()


@couler.step
def never(number: int) -> float:
    return number / 2


@couler.step
def exact(number: int) -> str:
    return str(number)


@couler.step
def look(model: File, name: str) -> str:
    return f"{name} {Path(model).read_text()}"


@couler.step
def label(name: str, depth: int) -> str:
    return f"{name} {depth}"


@couler.step
def whole() -> Whole:
    return Whole(Point('a","x":9,"y":9', 1e-07, 2**64 + 1), "{{x}}")


@couler.step
def shown(x: float, y: int, note: str) -> str:
    return f"{x} {y} {note}"


@couler.step(keep=couler.S3Artifact(key="models/best.txt"))
def best(trials: list[Trial], made: Directory, halves: list[float]) -> File:
    if halves:
        raise ValueError(halves)
    lines = [f"{one.depth} {one.score} {one.good} {Path(one.model).read_text()}" for one in trials]
    text = (Path(made) / "link").read_text()
    Path("best").write_text("\n".join([*lines, text]))
    return File("best")


@couler.step
def read(
    file: File, names: list[str], numbers: list[str], looks: list[str], labels: list[str], last: str
) -> list[str]:
    return [*Path(file).read_text().split("\n"), *names, *numbers, *looks, *labels, last]


with couler.Workflow(
    "functions", rows=2, defaults=couler.StepDefaults(image="python:3.12-slim")
) as program:
    data = prepare(program.params.rows)
    g = grid()
    trials = train.partial(data=data).map(depth=g.depths, rate=g.rates, max_parallel=2)
    loud = shout.map(g.names)
    halves = never.map(g.none)
    model = best(trials, folder("text"), halves)
    looks = look.map(model=trials.model, name=["{{p}}", "q", "$$(r)"])
    labels = label.map(name=g.names, depth=g.depths)
    all_of = whole()
    last = shown(all_of.point.x, all_of.point.y, all_of.note)
    program.output("lines", read(model, loud, exact.map(g.depths), looks, labels, last))

workflow = program.to_ir()
expected = Expected(
    "succeeded",
    succeeded=(
        "prepare grid train train[0] train[1] train[2] shout shout[0] shout[1] shout[2] never "
        "folder best exact exact[0] exact[1] exact[2] look look[0] look[1] look[2] "
        "label label[0] label[1] label[2] whole shown read"
    ),
    outputs={"train": {"good": [True, False, False], "depth": [3, 2**64 + 1, -1]}},
    run_outputs={
        "lines": [
            "3 2e-05 True 3 1e-05 3",
            "18446744073709551617 0.2 False 18446744073709551617 0.1 3",
            "-1 2e+22 False -1 1e+22 3",
            "text",
            "A $(HOME) $$",
            "{{B}}",
            "'É'",
            "3",
            "18446744073709551617",
            "-1",
            "{{p}} 3 1e-05 3",
            "q 18446744073709551617 0.1 3",
            "$$(r) -1 1e+22 3",
            "a $(HOME) $$ 3",
            "{{b}} 18446744073709551617",
            "'é' -1",
            "1e-07 18446744073709551617 {{x}}",
        ]
    },
)
