"""A script for the scripted server: answers to items that are right, or broken in known ways."""

from __future__ import annotations

import ast
import textwrap
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
        for prompt, reply in _replies(key.ablation, answer):
            yield {"when": {**when, "prompt": prompt}, "reply": reply}


def _replies(ablation: str, answer: str) -> Iterator[tuple[str, t.Any]]:
    """Yield what each prompt of an ablation is answered, so that the answer comes out."""
    if ablation == "plain":
        yield "plain", answer
        return
    program = program_in(answer)
    if program is None:  # no form either, also when it is asked for again
        yield from ((prompt, answer) for prompt in ("decompose", "write"))
        return
    plan, code = _split(program)
    yield "decompose", {"json": plan}
    yield from ((prompt, {"json": code}) for prompt in ("generate", "repair"))
    whole = {"explanation": "", "program": program}
    yield from ((prompt, {"json": whole}) for prompt in ("write", "mend"))
    critique = {"problems": [], "advice": "", "score": 0.9}
    yield from ((prompt, {"json": critique}) for prompt in ("critique", "critique-program"))


def _split(program: str) -> tuple[dict[str, t.Any], dict[str, str]]:
    """Return a program as a plan of one module and its code; one that cannot be cut as it is."""
    plan: dict[str, t.Any] = {"reasoning": "", "workflow_name": "w", "parameters": []}
    plan |= {"schedule": "", "settings": "", "modules": [_MODULE]}
    code = {"explanation": "", "definitions": program, "wiring": ""}
    try:
        body = ast.parse(program).body
    except SyntaxError:
        return plan, code
    block = body[-1]
    if not isinstance(block, ast.With):
        return plan, code
    opened = block.items[0].context_expr
    assert isinstance(opened, ast.Call)
    plan["workflow_name"] = ast.literal_eval(opened.args[0])
    plan["settings"] = ", ".join(map(ast.unparse, opened.keywords))
    lines = program.splitlines()
    before = [ast.unparse(one) for one in body[:-1] if not _is_docstring(one)]
    wiring = textwrap.dedent("\n".join(lines[block.body[0].lineno - 1 :]))
    return plan, code | {"definitions": "\n\n\n".join(before), "wiring": wiring}


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


_MODULE = {"name": "all_of_it", "task": "other", "description": "All of it.", "reads": []}
