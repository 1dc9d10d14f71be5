"""Which output, which argument, which default: what steps read counts, its name does not."""

from typing import NamedTuple

import pytest

import couler
from benchmarks.nl.comparison import differences
from couler import File
from tests.benchmarks.nl.test_comparison import made, run


class Images(NamedTuple):
    train: File
    validation: File


class Halves(NamedTuple):
    first: File
    second: File


class Quality(NamedTuple):
    precision: float
    recall: float


@couler.step
def load() -> Images:
    return Images(File("a"), File("b"))


@couler.step
def cut() -> Halves:
    return Halves(File("a"), File("b"))


@couler.step
def judge() -> Quality:
    return Quality(precision=1.0, recall=1.0)


@couler.step
def figures() -> dict[str, float]:
    return {"mean": 1.0, "max": 2.0}


@couler.step
def facts() -> dict[str, float]:
    return {"average": 1.0, "largest": 2.0, "precision": 0.5}


@couler.step
def opaque() -> dict[str, float]:
    return dict.fromkeys(str(number) for number in range(3))


@couler.step
def row() -> list[float]:
    return [1.0, 2.0]


@couler.step
def train(data: File) -> File:
    return data


@couler.step
def learn(table: File) -> File:
    return table


@couler.step
def validate(model: File, data: File) -> float:
    return 1.0


@couler.step
def measured(examples: File, of: File) -> float:
    return 1.0


@couler.step
def number(x: float) -> float:
    return x


@couler.step
def sub(a: float, b: float) -> float:
    return a - b


@couler.step
def minus(whole: float, less: float) -> float:
    return whole - less


@couler.step
def summed(numbers: list[float]) -> float:
    return sum(numbers)


@couler.step
def word(x: str) -> str:
    return x


@couler.step
def nothing() -> None:
    return None


def chosen(read):
    """A model is trained on one part of the data and validated on another."""

    def body(wf):
        data = load()
        wf.output("accuracy", validate(train(data.train), read(data)))

    return body


def in_other_words(wf):
    data = cut()
    wf.output("accuracy", measured(data.second, learn(data.first)))


def gives(read):
    return lambda wf: wf.output("given", read())


def on(holds, of=judge):
    def body(wf):
        with couler.when(holds(of())):
            nothing()

    return body


def difference(call, times=1):
    def body(wf):
        first = number(1.0)
        second = number(first)
        call(first, second)
        if times == 2:
            third = number(second)
            sub(second, third)

    return body


def called_twice(one, other):
    def body(wf):
        first = number(1.0)
        second = number(first)
        third = number(second)
        one(first, second)
        other(second, third)

    return body


def defaulted(make):
    def body(wf):
        first = number(1.0)
        with couler.when(first > 0.5):
            second = number(first)
        wf.output("d", number(make(second)))

    return body


def carrying(start):
    def body(wf):
        with couler.loop(while_=lambda: value > 1, max_iterations=5) as rounds:
            value = number(rounds.carry(start, name="v"))
            rounds.next(value)

    return body


def carrying_two(swapped):
    def body(wf):
        with couler.loop(while_=lambda: value > 1, max_iterations=5) as rounds:
            low, high = rounds.carry(1.0, name="low"), rounds.carry(2.0, name="high")
            value = sub(low, high)
            other = number(value)
            nexts = (other, value) if swapped else (value, other)
            rounds.next(low, nexts[0])
            rounds.next(high, nexts[1])

    return body


def written(read):
    def body(wf):
        files = {"a": couler.File("a.txt"), "b": couler.File("b.txt")}
        both = run("a", "x", output=files, working_dir=".")
        run("b", "cat", args=[read(both)])

    return body


def taken(swapped):
    def body(wf):
        files = {"a": couler.File("a.txt"), "b": couler.File("b.txt")}
        both = run("a", "x", output=files, working_dir=".")
        one, other = (both.b, both.a) if swapped else (both.a, both.b)
        run("b", "join", input={"left": one, "right": other}, working_dir=".")

    return body


def with_variables(swapped):
    def body(wf):
        one, other = run("a", "x"), run("b", "y")
        values = (other, one) if swapped else (one, other)
        run("c", "z", env={"ONE": values[0], "OTHER": values[1]})

    return body


def told(*words):
    def body(wf):
        run("a", "echo", args=[word.map(x=list(words))])

    return body


def listed(order):
    def body(wf):
        data = number(1.0)
        items = [data, number(data), summed([data])]
        summed([items[place] for place in order])

    return body


def first(order):
    def body(wf):
        sure = number(1.0)
        with couler.when(sure > 1):
            maybe = number(sure)
        run("a", "echo", args=[couler.first_of(*((maybe, sure) if order else (sure, maybe)))])

    return body


DIFFERENT = {
    "another part of the data": (
        chosen(lambda data: data.validation),
        chosen(lambda data: data.train),
    ),
    "another output": (gives(lambda: load().train), gives(lambda: load().validation)),
    "another field in a condition": (on(lambda s: s.precision > 0.9), on(lambda s: s.recall > 0.9)),
    "another key": (gives(lambda: figures()["mean"]), gives(lambda: figures()["max"])),
    "a key that nobody knows": (gives(lambda: opaque()["0"]), gives(lambda: opaque()["1"])),
    "another place": (gives(lambda: row()[0]), gives(lambda: row()[1])),
    "swapped arguments": (difference(sub), difference(lambda a, b: sub(b, a))),
    "arguments swapped in one of two calls": (
        called_twice(sub, sub),
        called_twice(minus, lambda a, b: minus(b, a)),
    ),
    "another default": (defaulted(lambda v: v.or_else(0.0)), defaulted(lambda v: v.or_else(99.0))),
    "another value of the first round": (carrying(1.0), carrying(2.0)),
    "another value carried": (carrying_two(False), carrying_two(True)),
    "another file of a container": (written(lambda both: both.a), written(lambda both: both.b)),
    "files in each other's places": (taken(False), taken(True)),
    "values in each other's variables": (with_variables(False), with_variables(True)),
    "another order of items in a command": (told("a", "b"), told("b", "a")),
    "another order in a list": (listed((0, 1, 2)), listed((1, 0, 2))),
    "another order of alternatives": (first(True), first(False)),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_different(case):
    one, other = map(made, DIFFERENT[case])
    for first_one, second in ((one, other), (other, one)):
        assert differences(first_one, second)
        assert differences(first_one, first_one) == ()


SAME = {
    "names and places of parameters": (chosen(lambda data: data.validation), in_other_words),
    "names of fields": (gives(lambda: load().train), gives(lambda: cut().second)),
    "keys": (gives(lambda: figures()["mean"]), gives(lambda: facts()["average"])),
    "a key or a field": (
        on(lambda s: s.precision > 0.9),
        on(lambda s: s["precision"] > 0.9, facts),
    ),
    "a part or a whole": (gives(lambda: number(1.0)), gives(lambda: figures()["mean"])),
    "functions with other parameters": (
        difference(sub, times=2),
        difference(lambda a, b: minus(less=b, whole=a), times=2),
    ),
    "parameters the other way round": (
        called_twice(sub, sub),
        called_twice(lambda a, b: minus(b, a), lambda a, b: minus(b, a)),
    ),
    "a default and the first of two": (
        defaulted(lambda v: v.or_else(0.5)),
        defaulted(lambda v: couler.first_of(v, 0.5)),
    ),
    "a default that is never taken": (
        gives(lambda: number(1.0)),
        gives(lambda: couler.or_else(number(1.0), 7.0)),
    ),
    "items with other constants": (told("a", "b"), told("x", "y")),
}


@pytest.mark.parametrize("case", SAME)
def test_the_same(case):
    one, other = map(made, SAME[case])
    assert differences(one, other) == ()
    assert differences(other, one) == ()
