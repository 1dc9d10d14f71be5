"""Workflows whose conditions read a step that is itself skipped, fails or is omitted."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import typing as t
from collections.abc import Callable, Iterator

import couler
from couler.ir.workflow import Workflow

IMAGE = "busybox:1.37"
Value: t.TypeAlias = t.Any


def echo(name: str, text: str = "x") -> Value:
    """Make a container that prints."""
    return couler.run_container(IMAGE, ["echo", text], step_name=name)


@dataclasses.dataclass
class Answer:
    """A result with fields."""

    k: int = 7


@couler.step
def count(fails: bool) -> int:
    """Return a number, or fail."""
    if fails:
        raise SystemExit(1)
    return 7


@couler.step
def answer(fails: bool) -> Answer:
    """Return a record, or fail."""
    if fails:
        raise SystemExit(1)
    return Answer()


def _printed(text: str) -> Callable[[bool], Value]:
    def make(fails: bool) -> Value:
        command = "exit 1" if fails else f"echo '{text}'"
        return couler.run_script(IMAGE, "sh", command, step_name="p")

    return make


def _container(fails: bool) -> Value:
    return couler.run_container(IMAGE, ["sh", "-c", f"echo 7; exit {int(fails)}"], step_name="p")


PRODUCERS: dict[str, tuple[Callable[[bool], Value], Callable[[Value], Value]]] = {
    "container": (_container, lambda p: p == "7"),
    "script": (_printed("7"), lambda p: p > 5),
    "field": (_printed('{"k": [7]}'), lambda p: p["k"][0] == 7),
    "default": (_printed("7"), lambda p: couler.or_else(p, "7") == "7"),
    "typed": (count, lambda p: p == 7),
    "record": (answer, lambda p: p.k != 8),
}
"""What makes the value, and the condition on it."""


def _group(condition: Value) -> None:
    with couler.group("g"), couler.when(condition):
        echo("r")


def _otherwise(condition: Value) -> None:
    with couler.when(condition) as branch:
        echo("r")
    with branch.otherwise():
        echo("s")


def _map(condition: Value) -> None:
    with couler.when(condition):
        couler.map(lambda item: echo("r", item), ["a", "b"])


def _in_map(condition: Value) -> None:
    def each(item: Value) -> None:
        with couler.when(condition):
            echo("r", item)

    couler.map(each, ["a", "b"])


def _loop(condition: Value) -> None:
    with couler.when(condition), couler.loop(max_iterations=2) as rounds:
        again = echo("r")
        rounds.until(again == "x")


def _inner(condition: Value) -> None:
    with couler.when(condition):
        second = echo("r")
        with couler.when(second == "x"):
            echo("s")


PLACES: dict[str, Callable[[Value], None]] = {
    "group": _group,
    "otherwise": _otherwise,
    "map": _map,
    "in_map": _in_map,
    "loop": _loop,
    "inner": _inner,
}
"""Where the condition stands."""

STATES = ("skipped", "failed", "omitted", "succeeded")
CASES = tuple(itertools.product(PRODUCERS, STATES, PLACES))


@contextlib.contextmanager
def _behind(state: str) -> Iterator[Value]:
    """Have the producer in a block be skipped, or give what it has to wait for to be omitted."""
    if state == "skipped":
        with couler.when(echo("a", "no") == "yes"):
            yield None
    elif state == "omitted":
        yield couler.run_container(IMAGE, ["sh", "-c", "exit 1"], step_name="a")
    else:
        yield None


def condition_case(producer: str, state: str, place: str) -> Workflow:
    """Return the workflow of a case."""
    make, condition = PRODUCERS[producer]
    name = f"{producer}-{state}-{place}".replace("_", "-")
    with couler.Workflow(name) as flow, _behind(state) as before:
        made = make(state == "failed")
        if before is not None:
            before >> made
        PLACES[place](condition(made))
    problems = [str(one) for one in flow.diagnostics if one.severity == "error"]
    assert not problems, problems
    return flow.to_ir()
