"""Whole programs: the listings of the paper, and one that runs to its end."""

from __future__ import annotations

import dataclasses
import enum
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import couler
from couler import Directory, File, stages
from couler.cli.load import Source, load
from couler.ir.values import RoundRef, StepRef
from couler.ir.verify import verify
from couler.stages.programs import load_program

PROGRAMS = Path(__file__).parents[1] / "programs"
LISTINGS = sorted(PROGRAMS.glob("listing_*.py"))


@pytest.mark.parametrize("path", LISTINGS, ids=lambda path: path.stem)
def test_listings_of_the_paper_build_and_verify(path: Path) -> None:
    loaded = load(Source(str(path), None))
    workflow = loaded.to_ir()
    assert loaded.diagnostics == ()
    assert list(verify(workflow)) == []
    assert workflow.name == path.stem.replace("_", "-")


def test_the_listings_say_what_the_paper_says() -> None:
    assert len(LISTINGS) == 7
    built = [load(Source(str(path), None)).to_ir() for path in LISTINGS]
    for diamond in (built[0], built[3]):
        assert [(step.name, step.depends_on) for step in diamond.steps] == [
            ("A", ()),
            ("B", ("A",)),
            ("C", ("A",)),
            ("D", ("B", "C")),
        ]
    producer, consumer = built[1].steps
    assert consumer.depends_on == (producer.name,)
    assert consumer.action.args == (StepRef(step="step1", output="hello_world"),)
    flip, heads, tails = built[2].steps
    assert (flip.name, heads.when.right.value, tails.when.right.value) == (
        "flip_coin",
        "heads",
        "tails",
    )
    [again] = built[4].steps
    assert again.loop.condition.left == RoundRef()
    train, judge = built[5].steps
    assert (train.name, train.action.manifest["kind"]) == ("train_tensorflow", "TFJob")
    assert train.foreach.over["x"].value == (100, 200, 300, 400, 500)
    assert judge.foreach.over["x"] == StepRef(step="train_tensorflow", output="job_name")
    boosted, other = built[6].steps
    assert (boosted.depends_on, other.depends_on) == ((), ())
    assert [(one.action.image, one.outputs[0].path) for one in (boosted, other)] == [
        ("xgboost-image", "model.json"),
        (f"python:{sys.version_info[0]}.{sys.version_info[1]}", "lightgbm_model"),
    ]


class Split(NamedTuple):
    train: File
    folder: Directory
    size: int


@dataclasses.dataclass
class Config:
    rate: float
    layers: list[int]
    tag: str | None = None


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@couler.step
def split(dataset: str) -> Split:
    import os

    with open("a.txt", "w") as file:
        file.write(dataset)
    os.mkdir("folder")
    with open("folder/b.txt", "w") as file:
        file.write("b")
    return Split(File("a.txt"), Directory("folder"), 3)


@couler.step
def length(data: File, times: int = 1) -> int:
    with open(data) as file:
        return len(file.read()) * times


@couler.step
def total(xs: list[int], config: Config, color: Color, extra: dict[str, float] | None) -> float:
    more = 1 if color is Color.RED else 0
    return sum(xs) * config.rate + (extra or {}).get("k", 0) + more


@couler.step
def configure(rate: float) -> Config:
    return Config(rate, [1, 2])


@couler.step
def show(data: Split, text: str, perhaps: str | None) -> str:
    import os

    with open(data.train) as file:
        return f"{file.read()} {os.listdir(data.folder)} {data.size} {text} {perhaps}\n{{{{"


@couler.step
def words(n: int) -> list[str]:
    return [f"w{index}" for index in range(n)]


@couler.step
def write(word: str) -> File:
    with open("x", "w") as file:
        file.write(word)
    return File("x")


@couler.step
def shout(word: str) -> str:
    return word.upper() + "\n"


@couler.step
def join(parts: list[str]) -> str:
    return "+".join(parts)


@couler.step
def read_all(files: list[File]) -> str:
    texts = []
    for one in files:
        with open(one) as file:
            texts.append(file.read())
    return ",".join(texts)


@couler.step
def double(n: int) -> int:
    return n * 2


@pytest.mark.slow
def test_a_program_of_typed_steps_runs_to_its_end() -> None:
    with couler.Workflow("live", dataset="digits") as wf:
        data = split(wf.params.dataset)
        lengths = length.partial(data=data.train).map(times=[1, 2, 3])
        config = configure(2)
        summed = total(lengths, config, Color.RED, {"k": 0.5})
        shown = show(data, "a b", None)
        listed = words(3)
        loud = shout.map(listed)
        joined = join(loud)
        files = write.map(listed)
        read = read_all(files)
        sizes = couler.map(lambda word: length(write(word)), listed)
        flat = total(sizes, Config(1.0, []), Color.BLUE, None)
        with couler.when(summed > 3) as large:
            big = join(["big"])
        with large.otherwise():
            small = join(["small"])
        which = join([couler.first_of(big, small), joined])
        with couler.loop(while_=lambda: n < 100) as rounds:
            k = rounds.carry(1)
            n = double(k)
            rounds.next(n)
        with couler.loop(while_=lambda: last < 40) as rounds:
            k = rounds.carry(1)
            last = double(double(k))
            rounds.next(last)
        for name, value in {
            "summed": summed,
            "shown": shown,
            "loud": loud,
            "read": read,
            "flat": flat,
            "which": which,
            "n": n,
            "last": last,
            "rate": config.rate,
        }.items():
            wf.output(name, value)
    assert wf.diagnostics == ()
    result = wf.run()
    assert result.status == "succeeded", result.to_json()
    assert dict(result.outputs) == {
        "summed": 73.5,
        "shown": "digits ['b.txt'] 3 a b None\n{{",
        "loud": ["W0\n", "W1\n", "W2\n"],
        "read": "w0,w1,w2",
        "flat": 6.0,
        "which": "big+W0\n+W1\n+W2\n",
        "n": 128,
        "last": 64,
        "rate": 2.0,
    }


DOCUMENTED = '''"""Count words.

How it does so is told elsewhere.
"""

import couler


@couler.step
def count(text: str) -> int:
    """Count the words of a text.

    Words are what blanks part.
    """
    return len(text.split())


with couler.Workflow("count"):
    count("a b")

with couler.Workflow("other", description="Not that."):
    count("a")


def inside():
    with couler.Workflow("third") as made:
        count("a")
    return made


third = inside()
'''


@pytest.mark.parametrize("folder", ["", "{}/"])
def test_docstrings_are_descriptions(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.py").write_text(DOCUMENTED, encoding="utf-8")
    file = folder.format(tmp_path) + "words.py"
    dag = stages.compile(load_program(file, "count"), "airflow").to_text()
    assert 'description="Count words."' in dag
    assert 'doc_md="Count the words of a text."' in dag
    other = stages.compile(load_program(file, "other"), "argo").to_text()
    assert "Count words" not in other
    assert "description: Not that." in other
    third = stages.compile(load_program(file, "third"), "argo").to_text()
    assert "description" not in third
