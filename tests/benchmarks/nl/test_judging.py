"""Answers are judged by what they build and do; every class of error is reached."""

from pathlib import Path

import pytest

from benchmarks.nl.generating import program_in
from benchmarks.nl.items import Courses, read_benchmark
from benchmarks.nl.judging import OUTCOMES, Judge, reference_workflow
from couler.box import Built, build_program, isolation
from couler.box.running import BoxedRun
from tests.nl_benchmark.answers import WRONG
from tests.nl_benchmark.scripted import ANSWERS, OTHER

ITEMS = {item.name: item for item in read_benchmark(Path("tests/nl_benchmark")).items}
SQUARES = ITEMS["sum_of_squares"]

needs_box = pytest.mark.skipif(isolation().problem is not None, reason="no box on this system")


@needs_box
@pytest.mark.parametrize("outcome", [one for one in OUTCOMES if one != "wrong-outcome"])
def test_each_class(outcome):
    program = program_in(ANSWERS[outcome](SQUARES))
    verdict = Judge("not here").judge(SQUARES, program)
    assert verdict.outcome == outcome, verdict
    assert verdict.is_right == (not verdict.reasons)


@needs_box
def test_wrong_outcome_in_the_box():
    program = program_in(ANSWERS["wrong-outcome"](SQUARES))
    verdict = Judge().judge(SQUARES, program)
    assert verdict.outcome == "wrong-outcome"
    assert verdict.reasons == ('the run should give "total" = 30, but gives 50',)


LINES = {
    "couler.lunch()": "unknown-api",
    "couler.steps.sklearn.fit()": "unknown-api",
    "from couler import Wokflow": "unknown-api",
    "undefined_name": "unknown-api",
    "import socket": "refused",
    "from os import path": "refused",
    "eval('1')": "refused",
    "open('x')": "refused",
    "x = couler.__dict__": "refused",
    "couler.create_secret({'a': 'b'})": "refused",
    "def f(:": "syntax",
    "1 / 0": "build",
}


@needs_box
@pytest.mark.parametrize(("line", "outcome"), LINES.items())
def test_what_a_line_is(line, outcome):
    program = f"import couler\n\n{line}\n\n" + OTHER.removeprefix("import couler\n")
    assert Judge("").judge(SQUARES, program).outcome == outcome


@pytest.mark.parametrize("program", [None, "", " \n"])
def test_no_answer(program):
    assert Judge("").judge(SQUARES, program).outcome == "no-answer"


def judged(ran, item=SQUARES):
    asked = []
    judge = Judge(run=lambda workflow, parameters: asked.append(parameters) or ran)
    return judge.judge_workflow(item, reference_workflow(item)), asked


def test_outcomes_are_compared():
    right = BoxedRun("succeeded", {"total": 30.0, "more": 1}, {"succeeded": 5, "skipped": 0})
    assert judged(right)[0].is_right
    for wrong, told in (
        (BoxedRun("failed", {"total": 30}, {"succeeded": 5}, "it broke"), "has failed: it broke"),
        (BoxedRun(None, {}, {}), "come to no end"),
        (BoxedRun("succeeded", {"total": 31}, {"succeeded": 5}), "but gives 31"),
        (BoxedRun("succeeded", {"total": "30"}, {"succeeded": 5}), 'but gives "30"'),
        (BoxedRun("succeeded", {"total": True}, {"succeeded": 5}), "but gives true"),
        (BoxedRun("succeeded", {}, {"succeeded": 5}), "but gives null"),
        (BoxedRun("succeeded", {"total": 30}, {"succeeded": 4}), "but 4 are"),
    ):
        verdict, _ = judged(wrong)
        assert verdict.outcome == "wrong-outcome"
        assert told in verdict.reasons[0]


def test_equal_outcomes_do_not_excuse_a_retry_of_another_step():
    name, edits = WRONG["a retry of another step"]
    item = ITEMS[name].model_copy(update={"run": Courses()})
    program = item.reference
    for old, new in edits:
        program = program.replace(old, new)
    ran = BoxedRun("succeeded", {}, {"succeeded": 4})
    judge = Judge(run=lambda workflow, parameters: ran)
    assert judge.judge_workflow(item, reference_workflow(item)).is_right
    verdict = judge.judge_workflow(item, built(program))
    assert verdict.outcome == "wrong-graph"
    assert len({*verdict.reasons}) == len(verdict.reasons)


def test_each_course_is_run():
    gate = ITEMS["quality_gate"]
    verdict, asked = judged(
        BoxedRun("succeeded", {"decision": "live"}, {"succeeded": 2, "skipped": 1}), gate
    )
    assert asked == [{}, {"least": 0.99}]
    assert '{"least": 0.99}' in verdict.reasons[0]


def test_not_run_is_told():
    verdict = Judge("it is forbidden").judge_workflow(SQUARES, reference_workflow(SQUARES))
    assert verdict.is_right
    assert verdict.not_run == "it is forbidden"


def test_words_that_must_occur():
    item = ITEMS["image_model_selection"]
    other = item.reference.replace("DenseNet", "AlexNet")
    verdict = Judge("").compare(item, built(other))
    assert verdict.reasons == ('"densenet" occurs nowhere in the answer',)


def built(program):
    made: Built = build_program(program)
    assert made.workflow is not None
    return made.workflow


def test_an_engine_of_the_item_refuses():
    group = ITEMS["retried_together"]
    workflow = reference_workflow(group)
    item = group.model_copy(update={"engines": ("argo", "airflow")})
    verdict = Judge("").judge_workflow(item, workflow)
    assert (verdict.outcome, verdict.code) == ("not-verified", "CLR301")
