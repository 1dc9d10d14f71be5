"""What a strong model answered to 35 descriptions, from the prompts alone, is judged as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.nl.evaluating import Plan, evaluate
from benchmarks.nl.items import read_benchmark
from benchmarks.nl.judging import Judge
from benchmarks.nl.records import Header, Records
from couler.box.running import running_problem
from couler.llm import Answer, Parsed, Usage

FOLDER = Path(__file__).parent
RECORDED = [
    json.loads(line)["sample"]
    for line in (FOLDER / "recorded.jsonl").read_text(encoding="utf-8").splitlines()[1:]
]
"""A file of samples, as `python -m benchmarks.nl --json` writes it."""


class Recorded:
    """Answers each description as it was answered."""

    usage = Usage()

    def __init__(self, programs):
        self._programs = programs

    def ask_for(self, prompt, schema, **_options):
        said = prompt.messages[-1].content
        (program,) = [text for described, text in self._programs.items() if described in said]
        fields = {"plan": "", "assumptions": (), "question": "", "program": program}
        return Parsed(schema(**fields), Answer("", Usage(1, 1, 1), "recorded", "stop"))


@pytest.mark.slow
@pytest.mark.skipif(running_problem() is not None, reason="no sandbox here")
def test_recorded_answers_are_judged_as_they_were():
    names = [one["item"] for one in RECORDED]
    items = {one.name: one for one in read_benchmark(FOLDER).select(names).items}
    model = Recorded({items[one["item"]].descriptions[0]: one["program"] for one in RECORDED})
    benchmark = replace(read_benchmark(FOLDER), items=tuple(items.values()))
    plan = Plan(benchmark, 1, (0.2,), ("one-shot",), descriptions=1)
    header = Header(benchmark.digest, "recorded", "here", 0)
    result = evaluate(plan, model, Judge(), Records(None, header), jobs=2)
    assert {one.item: one.outcome for one in result.samples} == {
        one["item"]: one["outcome"] for one in RECORDED
    }
