"""What an answer is worth: it builds, verifies, is the right graph, and does the right thing."""

from __future__ import annotations

import ast
import builtins
import json
import tempfile
import typing as t
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import couler
from benchmarks.nl.aspects import aspects_for
from benchmarks.nl.comparison import differences
from benchmarks.nl.items import Course, Item
from benchmarks.nl.runner import Runner
from couler.box.running import BoxedRun
from benchmarks.nl.targets import TARGETS
from couler.box import Built, build_program
from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Workflow
from couler.stages import diagnose
from couler.stages.programs import load_program

Outcome: t.TypeAlias = t.Literal[
    "right",
    "syntax",
    "refused",
    "unknown-api",
    "wrong-argument",
    "build",
    "not-verified",
    "wrong-graph",
    "wrong-outcome",
    "no-answer",
]

OUTCOMES: Mapping[Outcome, str] = {
    "right": "builds, verifies, is the right graph and, where it runs, does the right thing",
    "syntax": "is no Python",
    "refused": "has what a generated program may not have",
    "unknown-api": "uses a name that Couler has not",
    "wrong-argument": "calls a function of Couler, or a step, wrongly",
    "build": "raises, or builds no workflow, for another reason",
    "not-verified": "builds a workflow that has errors, or that an engine of the item refuses",
    "wrong-graph": "is a sound workflow, but another",
    "wrong-outcome": "is the right graph, but its run comes to something else",
    "no-answer": "is no program at all",
}
"""What an answer can come to, the first that holds of those after `right`."""

_SYNTAX = "CLR601"
_NAMES = frozenset(("CLR603", "CLR605", "CLR606"))
_ARGUMENTS = frozenset(f"CLR{number}" for number in (101, 102, 104, 105, 106, 107, 143, 144))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer came to."""

    outcome: Outcome
    code: str | None = None
    reasons: tuple[str, ...] = ()
    not_run: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether the answer is right."""
        return self.outcome == "right"


class Judge:
    """Judges answers to the items of a benchmark."""

    def __init__(self, runner: Runner, build: Callable[[str], Built] = build_program) -> None:
        self._runner = runner
        self._build = build

    def judge(self, item: Item, program: str | None) -> Verdict:
        """Return what an answer is worth."""
        if program is None or not program.strip():
            return Verdict("no-answer", reasons=("there is no program in the answer",))
        built = self._build(program)
        failed = _of_build(program, built)
        if failed is not None:
            return failed
        assert built.workflow is not None
        return self.judge_workflow(item, built.workflow)

    def judge_workflow(self, item: Item, workflow: Workflow) -> Verdict:
        """Return what a workflow is worth that verification finds no error in."""
        found = diagnosed(workflow, item.engines)
        if found:
            return Verdict("not-verified", found[0].code, tuple(one.message for one in found[:5]))
        compared = self.compare(item, workflow)
        if not compared.is_right:
            return compared
        if item.run is None:
            return Verdict("right")
        problem = self._runner.problem(workflow)
        if problem is not None:
            return Verdict("right", not_run=problem)
        for course in item.run.all:
            wrong = tuple(_compare(course, self._runner.run(workflow, course)))
            if wrong:
                return Verdict("wrong-outcome", reasons=wrong)
        return Verdict("right")

    def compare(self, item: Item, workflow: Workflow) -> Verdict:
        """Return whether a sound workflow is the one that was asked for, without running it."""
        reference = reference_workflow(item)
        aspects = aspects_for(
            reference,
            any_kind=item.compare.any_kind,
            ignore=item.compare.ignore,
            also=item.compare.also,
        )
        told = (*differences(reference, workflow, aspects), *_unmentioned(item, workflow))
        return Verdict("wrong-graph", reasons=told) if told else Verdict("right")


def reference_workflow(item: Item) -> Workflow:
    """Return the workflow of an item's reference."""
    return _reference(item.name, item.reference)


@cache
def _reference(name: str, program: str) -> Workflow:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.py"
        file.write_text(program, encoding="utf-8")
        return load_program(str(file)).workflow


def diagnosed(workflow: Workflow, engines: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Return the errors of a workflow on engines, settings of which are those of `TARGETS`."""
    found: dict[Diagnostic, None] = {}
    for engine in engines:
        told = diagnose(workflow, (engine,), target=TARGETS.get(engine))
        found |= dict.fromkeys(one for one in told if one.severity == "error")
    return tuple(found)


def _of_build(program: str, built: Built) -> Verdict | None:
    """Return what a program came to that builds no sound workflow, None for one that does."""
    errors = [one for one in built.diagnostics if one.severity == "error"]
    if not errors and built.workflow is not None:
        return None
    if not errors:
        return Verdict("build", reasons=("the program builds no workflow",))
    first = min(errors, key=lambda one: _order(_class_of(program, one)))
    reasons = tuple(dict.fromkeys(one.message for one in errors))[:5]
    return Verdict(_class_of(program, first), first.code, reasons)


def _order(outcome: Outcome) -> int:
    return list(OUTCOMES).index(outcome)


def _class_of(program: str, found: Diagnostic) -> Outcome:
    code = found.code
    if code == _SYNTAX:
        return "syntax"
    if code in _NAMES:
        return "unknown-api" if _misses_a_name(program, found) else "refused"
    if code.startswith("CLR6") and code < "CLR620":
        return "refused"
    if code in _ARGUMENTS:
        return "wrong-argument"
    if code < "CLR150" or code.startswith("CLR62"):
        return "build"
    return "not-verified"


def _misses_a_name(program: str, found: Diagnostic) -> bool:
    """Return whether a line was refused for a name that is nowhere, not for one that does harm."""
    line = found.source.line if found.source is not None else 0
    for node in ast.walk(ast.parse(program)):
        if getattr(node, "lineno", None) != line:
            continue
        match node:
            case ast.Attribute(attr=name) if name.startswith("_"):
                return False
            case ast.Attribute(value=ast.Name(id="couler"), attr=name):
                if name in couler.__all__:
                    return False
            case ast.Name(id=name) if name.startswith("_") or hasattr(builtins, name):
                return False
            case ast.Import(names=names) if not all(_is_ours(one.name) for one in names):
                return False
            case ast.ImportFrom(module=module) if not _is_ours(module or ""):
                return False
            case _:
                continue
    return True


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "couler"


def _unmentioned(item: Item, workflow: Workflow) -> Iterable[str]:
    """Yield the words that an answer should contain somewhere and does not."""
    text = workflow.model_dump_json(exclude={"description"}).casefold()
    for word in item.mentions:
        if word.casefold() not in text:
            yield f'"{word}" occurs nowhere in the answer'


def _compare(course: Course, ran: BoxedRun) -> Iterable[str]:
    with_ = f" with {json.dumps(course.parameters)}" if course.parameters else ""
    if ran.status != course.status:
        end = ran.status or "come to no end"
        why = f": {ran.message}" if ran.message else ""
        yield f"the run{with_} should have {course.status}, but has {end}{why}"
        return
    for name, wanted in course.outputs.items():
        found = ran.outputs.get(name)
        if not _is_equal(wanted, found):
            yield (
                f'the run{with_} should give "{name}" = {json.dumps(wanted)}, but gives '
                f"{json.dumps(found, default=str)}"
            )
    for state, count in course.states.items():
        if ran.states.get(state, 0) != count:
            yield (
                f"in the run{with_} {count} steps should be {state}, but "
                f"{ran.states.get(state, 0)} are"
            )


def _is_equal(wanted: object, found: object) -> bool:
    """Return whether two JSON values are equal; numbers may differ by what computing leaves."""
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, int | float) and isinstance(found, int | float):
        return abs(wanted - found) <= 1e-9 * max(abs(wanted), abs(found), 1.0)
    if isinstance(wanted, list) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(_is_equal, wanted, found))
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(
            _is_equal(value, found[name]) for name, value in wanted.items()
        )
    return wanted == found
