"""Answers in other words are right, planted faults are found: `answers` has them."""

import textwrap
from pathlib import Path

import pytest

from benchmarks.nl.comparison import differences
from benchmarks.nl.items import read_benchmark
from benchmarks.nl.judging import Judge, reference_workflow
from couler.box import isolation
from couler.box.running import running_problem
from couler.ir.verify import verify
from tests.nl_benchmark.answers import INVENTED, OTHER_OUTCOMES, RIGHT, SAME_OUTCOMES, WRONG
from tests.nl_benchmark.equivalents import (
    DIFFERENT,
    DIFFERENT_OPTIONS,
    EQUIVALENT,
    PRELUDE,
)

ITEMS = {item.name: item for item in read_benchmark(Path(__file__).parent).items}

needs_runs = pytest.mark.skipif(running_problem() is not None, reason="no runs in a box here")
needs_box = pytest.mark.skipif(isolation().problem is not None, reason="no box on this system")


def edited(name, edits):
    item = ITEMS[name]
    program = item.reference
    for old, new in edits:
        assert old in program
        program = program.replace(old, new)
    return item, program


def judged(name, edits, not_run="not here"):
    item, program = edited(name, edits)
    workflow = reference_workflow(item.model_copy(update={"reference": program}))
    return Judge(not_run).judge_workflow(item, workflow)


@pytest.mark.parametrize("case", RIGHT)
def test_right(case):
    assert judged(*RIGHT[case]).reasons == ()


@pytest.mark.parametrize("case", WRONG)
def test_wrong(case):
    assert judged(*WRONG[case]).outcome == "wrong-graph"


@needs_runs
@pytest.mark.slow
@pytest.mark.parametrize("case", SAME_OUTCOMES)
def test_same_outcomes(case):
    assert judged(*SAME_OUTCOMES[case]).outcome == "wrong-graph"
    verdict = judged(*SAME_OUTCOMES[case], None)
    assert verdict.is_right, verdict.reasons
    assert verdict.reasons, "the other graph is reported"


@needs_runs
@pytest.mark.slow
@pytest.mark.parametrize("case", OTHER_OUTCOMES)
def test_other_outcomes(case):
    assert not judged(*OTHER_OUTCOMES[case], None).is_right


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize("case", INVENTED)
def test_invented(case):
    assert not Judge("not here").judge(*edited(*INVENTED[case])).is_right


def built(body, options=""):
    program = PRELUDE.replace("{options}", options) + textwrap.indent(body, "    ")
    workflow = reference_workflow(ITEMS["hello"].model_copy(update={"reference": program}))
    assert not [one for one in verify(workflow) if one.severity == "error"]
    return workflow


@pytest.mark.parametrize("case", EQUIVALENT)
def test_equivalent(case):
    one, other, wrong = map(built, EQUIVALENT[case])
    assert differences(one, other) == differences(other, one) == ()
    assert differences(one, wrong)


@pytest.mark.parametrize("case", DIFFERENT)
def test_different(case):
    assert differences(*map(built, DIFFERENT[case]))


@pytest.mark.parametrize("case", DIFFERENT_OPTIONS)
def test_different_options(case):
    assert differences(*(built('run("a")', options) for options in DIFFERENT_OPTIONS[case]))
