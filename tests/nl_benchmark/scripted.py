"""A script for the scripted server: answers to items that are right, or broken in known ways."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator

from couler.evaluation.evaluating import Plan, sample_seed
from couler.evaluation.items import Item
from couler.evaluation.judging import Outcome
from couler.evaluation.records import Key

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
    """Return the script of a plan with plain prompts: what each sample is answered."""
    return {"model": "scripted", "rules": list(_rules(plan, schedule))}


def _rules(plan: Plan, schedule: Schedule) -> Iterator[dict[str, t.Any]]:
    for item, key in plan.asked():
        when = {
            "prompt": "plain",
            "contains": item.descriptions[key.description],
            "temperature": key.temperature,
            "seed": sample_seed(plan.seed, key),
        }
        yield {"when": when, "reply": ANSWERS[schedule(key)](item)}
