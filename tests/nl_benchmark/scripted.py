"""A script for the scripted server: answers to items that are right, or broken in known ways."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator

from benchmarks.nl.evaluating import Plan, sample_seed
from benchmarks.nl.generating import program_in
from benchmarks.nl.items import Item
from benchmarks.nl.judging import Outcome
from benchmarks.nl.records import Key

OTHER = """\
import couler

with couler.Workflow("other"):
    couler.run_container("scratch:1", ["nothing", "of", "that"], step_name="other")
"""
MISSPELT = OTHER.replace("step_name=", "stepname=")
SKIPPED = """\
import couler


@couler.step
def half(number: float) -> float:
    return number / 2


with couler.Workflow("skipped"):
    first = half(1.0)
    with couler.when(first > 2):
        second = half(first)
    half(second)
"""


def _fenced(program: str) -> str:
    return f"Here is the program.\n\n```python\n{program.rstrip()}\n```\n"


ANSWERS: dict[Outcome, Callable[[Item], str]] = {
    "right": lambda item: _fenced(item.reference),
    "syntax": lambda item: _fenced(item.reference + "\nwith couler.Workflow(:\n"),
    "refused": lambda item: _fenced("import os\n" + item.reference + "\nos.getcwd()\n"),
    "unknown-api": lambda item: _fenced(item.reference + "\ncouler.launch_it()\n"),
    "wrong-argument": lambda item: _fenced(MISSPELT),
    "build": lambda item: _fenced("import couler\n"),
    "not-verified": lambda item: _fenced(SKIPPED),
    "wrong-graph": lambda item: _fenced(OTHER),
    "wrong-outcome": lambda item: _fenced(item.reference.replace("number * number", "number + 10")),
    "no-answer": lambda item: "I am sorry, but this is beyond me.",
}
"""By what it comes to: the text that a model answers. A wrong outcome is one of sum_of_squares."""

Schedule: t.TypeAlias = Callable[[Key], Outcome]


def script(plan: Plan, schedule: Schedule) -> dict[str, t.Any]:
    """Return the script of a plan: what each sample is answered, whatever is left out of it."""
    return {"model": "scripted", "rules": list(_rules(plan, schedule))}


def _rules(plan: Plan, schedule: Schedule) -> Iterator[dict[str, t.Any]]:
    for item, key in plan.asked():
        when = {
            "contains": item.descriptions[key.description],
            "temperature": key.temperature,
            "seed": sample_seed(plan.seed, key),
        }
        answer = ANSWERS[schedule(key)](item)
        for prompt, reply in _replies(key.mode, answer):
            yield {"when": {**when, "prompt": prompt}, "reply": reply}


def _replies(mode: str, answer: str) -> Iterator[tuple[str, t.Any]]:
    """Yield what each prompt of a mode is answered, so that the answer comes out."""
    if mode == "plain":
        yield "plain", answer
        return
    program = program_in(answer)
    if program is None:  # no form either, also when it is asked for again
        yield from ((prompt, answer) for prompt in ("decompose", "write"))
        return
    whole = {"plan": "", "assumptions": [], "question": "", "program": program}
    yield from ((prompt, {"json": whole}) for prompt in ("write", "repair", "extend"))
    yield "decompose", {"json": {"reasoning": "", "workflow": "w", "modules": [_MODULE]}}
    yield "critique", {"json": {"problems": [], "advice": "", "score": 0.9}}


_MODULE = {"name": "all_of_it", "task": "other", "description": "All of it.", "reads": []}
