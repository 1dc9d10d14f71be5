"""Comparisons of values of all kinds, with literals and with each other, by rule 5."""

from __future__ import annotations

import operator
import typing as t
from collections.abc import Callable, Collection

import couler
from couler.ir.defaults import resolve_defaults
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from tests.support.value_cases import Value, declared, echo, printed

BEYOND_FLOATS = 2**53 + 1
PARAMETERS = {"n": 3, "x": 3.0, "s": "3", "b": True}
PARTS: dict[str, t.Any] = {
    "int": 3,
    "float": 3.0,
    "big": BEYOND_FLOATS,
    "digits": "3",
    "word": "abc",
    "flag": "true",
    "bool": False,
    "null": None,
    "list": [3],
    "dict": {"a": 3},
}
LITERALS = (*PARTS.values(), -1, 0.5, 2**53, 2**64, -(2**53) - 1, "9007199254740993", "inf", "3.0")


@couler.step
def an_int() -> int:
    return 3


@couler.step
def a_float() -> float:
    return 3.0


@couler.step
def a_large_int() -> int:
    return 2**53 + 1


@couler.step
def a_larger_int() -> int:
    return 2**70


@couler.step
def digits() -> str:
    return "3"


@couler.step
def word() -> str:
    return "abc"


@couler.step
def yes() -> bool:
    return True


@couler.step
def no_int() -> int | None:
    return None


@couler.step
def maybe() -> str | None:
    return "3"


@couler.step
def some() -> list[int]:
    return [3]


@couler.step
def parts() -> dict[str, t.Any]:
    return {
        "int": 3,
        "float": 3.0,
        "big": 2**53 + 1,
        "digits": "3",
        "word": "abc",
        "flag": "true",
        "bool": False,
        "null": None,
        "list": [3],
        "dict": {"a": 3},
    }


def _of(name: str) -> Callable[[couler.Workflow], Value]:
    return lambda wf: wf.params[name]


def _part(name: str) -> Callable[[couler.Workflow], Value]:
    return lambda _: parts()[name]


OPERANDS: dict[str, Callable[[couler.Workflow], Value]] = {
    **{
        step.__name__: (lambda _, step=step: step())  # type: ignore[misc]  # bound at once
        for step in (
            an_int,
            a_float,
            a_large_int,
            a_larger_int,
            digits,
            word,
            yes,
            no_int,
            maybe,
            some,
            parts,
        )
    },
    **{f"the parameter {name}": _of(name) for name in PARAMETERS},
    **{f"the part {name}": _part(name) for name in PARTS},
    "printed digits": lambda _: printed("3"),
    "a printed float": lambda _: printed("3.0"),
    "a printed word": lambda _: printed("abc"),
    "printed blanks": lambda _: printed(" 3 \n"),
    "a declared int": lambda _: declared(" 3\\n\\n", int),
    "a declared bool": lambda _: declared(" true\\n\\n", bool),
    "an int that is none": lambda _: declared("3.0", int),
    "a bool that is none": lambda _: declared("True", bool),
    "a float that is none": lambda _: declared("true", float),
    "a list that is none": lambda _: declared("{}", list),
    "a dict that is none": lambda _: declared("[]", dict),
    "a declared list": lambda _: declared("[3]", list),
}
OPERATORS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "ge": operator.ge}


def comparisons(name: str, others: Collection[str] = ()) -> Workflow:
    """Return a workflow that compares an operand with others, or else with the literals.

    Comparisons that verification refuses are left out.
    """
    refused: set[str] = set()
    while True:
        workflow, wrong = _build(name, others, refused)
        if not wrong:
            return workflow
        refused |= wrong


def _build(name: str, others: Collection[str], refused: set[str]) -> tuple[Workflow, set[str]]:
    with couler.Workflow("comparisons", params=PARAMETERS) as wf:
        left = OPERANDS[name](wf)
        rights = [OPERANDS[other](wf) for other in others] if others else LITERALS
        for index, right in enumerate(rights):
            for symbol, compare in OPERATORS.items():
                step = f"{symbol}-{index}"
                if step not in refused:
                    with couler.when(compare(left, right)):
                        echo(step, step_name=step)
    workflow = resolve_defaults(wf.to_ir())
    problems = [one for one in (*wf.diagnostics, *verify(workflow)) if one.severity == "error"]
    assert all(one.step for one in problems), problems
    return workflow, {str(one.step) for one in problems}
