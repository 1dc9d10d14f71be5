"""What an answer is worth: it builds, verifies, is the right graph, and does the right thing."""

from __future__ import annotations

import ast
import builtins
import json
import tempfile
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import couler
from benchmarks.nl.aspects import Aspects, aspects_for
from benchmarks.nl.comparison import differences, policies
from benchmarks.nl.items import Course, Item
from benchmarks.nl.outcomes import other_parameters, unequal, with_outcome
from couler.backends.base import Target
from couler.box import Built, build_program
from couler.box.running import BoxedRun, run_boxed
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

TARGETS: Mapping[str, Target] = {"airflow": Target(options={"files_claim": "files"})}
"""Settings without which an engine has no place for files."""

OUTCOMES: Mapping[Outcome, str] = {
    "right": "builds, verifies, and is the workflow that was asked for by its graph or its runs",
    "syntax": "is no Python",
    "refused": "has what a generated program may not have",
    "unknown-api": "uses a name that Couler has not",
    "wrong-argument": "calls a function of Couler, or a step, wrongly",
    "build": "raises, or builds no workflow, for another reason",
    "not-verified": "builds a workflow that has errors, or that an engine of the item refuses",
    "wrong-graph": "is a sound workflow, but another",
    "wrong-outcome": "is a sound workflow whose run comes to something else",
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
    """Why it is wrong; of a right answer, how its graph differs where equal outcomes decide."""
    not_run: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether the answer is right."""
        return self.outcome == "right"


class Judge:
    """Judges answers to the items of a benchmark; `not_run` is why none of them may run."""

    def __init__(
        self,
        not_run: str | None = None,
        run: Callable[[Workflow, Mapping[str, t.Any]], BoxedRun] = run_boxed,
        build: Callable[[str], Built] = build_program,
    ) -> None:
        self._not_run, self._run, self._build = not_run, run, build
        self._outcomes: dict[tuple[str, str], BoxedRun] = {}

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
        if item.run is None or self._not_run is not None:
            is_missing = item.run is not None and compared.is_right
            return replace(compared, not_run=self._not_run if is_missing else None)
        if not compared.is_right:
            stated = policies(reference_workflow(item), workflow, aspects_of(item))
            if item.compare.structure or stated or any(_unmentioned(item, workflow)):
                reasons = dict.fromkeys((*compared.reasons, *stated))
                return replace(compared, reasons=tuple(reasons))
        for course in self._courses(item, is_alike=compared.is_right):
            wrong = tuple(unequal(course, self._run(workflow, course.parameters)))
            if wrong:
                return Verdict("wrong-outcome", reasons=wrong)
        return Verdict("right", reasons=compared.reasons)

    def _courses(self, item: Item, *, is_alike: bool) -> Iterator[Course]:
        """Yield the runs to compare: those stated, by all their steps where the graph differs."""
        assert item.run is not None
        reference, stated = reference_workflow(item), item.run.all
        names = frozenset(name for course in stated for name in course.outputs)
        if is_alike:
            yield from stated
        others = () if item.compare.structure else other_parameters(reference)
        courses = [Course(parameters=given) for given in others]
        for course in courses if is_alike else (*stated, *courses):
            key = (item.name, json.dumps(course.parameters))
            known = self._outcomes.get(key) or self._run(reference, course.parameters)
            self._outcomes[key] = known
            if course in stated or known.status == "succeeded":
                yield with_outcome(course, known, names)

    def compare(self, item: Item, workflow: Workflow) -> Verdict:
        """Return whether a sound workflow is the one that was asked for, without running it."""
        found = differences(reference_workflow(item), workflow, aspects_of(item))
        told = (*found, *_unmentioned(item, workflow))
        return Verdict("wrong-graph", reasons=told) if told else Verdict("right")


def aspects_of(item: Item) -> Aspects:
    """Return what counts when answers to an item are compared."""
    return aspects_for(reference_workflow(item), **item.compare.model_dump(exclude={"structure"}))


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
