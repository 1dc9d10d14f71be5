"""Workflows in parts under Argo's real controller have the outcome of those without."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.footprint import MAX_TASKS, check_runs
from couler.backends.argo.parts import has_runs
from couler.backends.argo.status_nodes import read_nodes
from couler.backends.base import Target
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Part, Retry
from couler.ir.semantics.wire import encode
from couler.ir.verify import verify
from couler.ir.walk import scopes
from couler.ir.workflow import ExitHandler, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.split import Split
from couler.stages.checks import check_engine
from tests.backends.argo.absences import BEYOND, REFUSED
from tests.corpus import Case, cases
from tests.corpus.build import (
    any_of,
    compare,
    flow,
    given,
    group,
    on_completion,
    on_failure,
    or_else,
    out,
    ref,
    sh,
)
from tests.support import argo_moments, argo_oracle
from tests.support.argo_outcome import Outcome
from tests.support.divisions import divided
from tests.support.mill_of_flows import Mill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]

SEEDS = 12
"""How many random workflows are run; those that Argo cannot take count as well."""


def compiled(workflow: Workflow) -> str:
    workflow = resolve_defaults(workflow)
    assert check_engine(workflow, ArgoBackend(), Target()) == ()
    return ArgoBackend().compile(workflow, Target()).to_text()


def suits(case: Case) -> bool:
    """Whether a case can be divided, and needs nothing of the cluster."""
    has_scope = any(len(scope.steps) > 1 for scope in scopes(case.workflow))
    needs = case.secrets or case.config_maps or case.artifacts
    return has_scope and not needs and case.name not in {**REFUSED, **BEYOND}


def with_runs(case: Case) -> Workflow | None:
    """Return a case of which some parts have runs of their own; None if it can have none."""
    if len(case.workflow.steps) < 2:
        return None
    workflow = divided(case.workflow, len(case.name))
    if not has_runs(workflow):
        workflow = divided(case.workflow, len(case.name) + 1)
    return None if any(check_runs(workflow)) else workflow


def some() -> list[Case]:
    """Return the cases without runs of parts, and a third of the others.

    These are all run with parts of both kinds in test_argo_runs_of_parts.
    """
    suitable = [case for case in cases() if suits(case)]
    return [case for at, case in enumerate(suitable) if at % 3 == 0 or with_runs(case) is None]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", some(), ids=str)
def test_the_corpus_in_parts(case: Case, argo: argo_oracle.Session, shared: Path) -> None:
    folder = shared / case.name
    folder.mkdir()
    workflow = divided(case.workflow, len(case.name), runs=False)
    parameters = {name: encode(value) for name, value in case.parameters_with(folder).items()}
    run = argo.run(compiled(workflow), parameters=parameters)
    outcome = Outcome(resolve_defaults(workflow), run)
    expected = case.expected
    assert outcome.states == expected.steps, (run.message, outcome.messages)
    assert outcome.status == expected.status
    assert outcome.run_outputs == expected.run_outputs
    for path, outputs in expected.outputs.items():
        for name, value in outputs.items():
            if name in outcome.outputs.get(path, {}):
                assert outcome.outputs[path][name] == value, (path, name)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_workflow_in_parts(seed: int, argo: argo_oracle.Session) -> None:
    flat = Mill(seed).workflow()
    if any(found.severity == "error" for found in verify(flat)):
        pytest.skip("the mill made what verification refuses")
    try:
        text = compiled(flat)
    except (InvalidWorkflowError, UnsupportedFeatureError):
        pytest.skip("Argo cannot run it")
    parted = divided(flat, seed, runs=False)
    first = Outcome(resolve_defaults(flat), argo.run(text))
    second = Outcome(resolve_defaults(parted), argo.run(compiled(parted)))
    assert second.states == first.states
    assert (second.status, second.outputs, second.run_outputs) == (
        first.status,
        first.outputs,
        first.run_outputs,
    )


@pytest.mark.nightly
def test_a_scope_that_is_too_long_for_one_template_runs_in_parts(
    argo: argo_oracle.Session,
) -> None:
    steps = [sh("first", "echo 1", result="int")]
    for number in range(MAX_TASKS):
        before = steps[max(0, len(steps) - 40)].name
        script = "echo $((COULER_INPUT_n + 1))"
        inputs = [given("n", ref(before), "int")]
        steps.append(sh(f"step-{number}", script, inputs=inputs, result="int"))
    flat = flow("long", *steps, outputs=[out("last", "int", source=ref(steps[-1].name))])
    context = PassContext(weigh=lambda found: ArgoBackend().footprint(found, Target()))
    workflow = Split().run(flat, context)
    assert all(step.part is not None for step in workflow.steps)
    outcome = Outcome(workflow, argo.run(compiled(workflow)))
    assert (outcome.status, set(outcome.states.values())) == ("succeeded", {"succeeded"})
    assert outcome.run_outputs == {"last": 6}


def test_what_is_recorded_of_parts(
    argo: argo_oracle.Session, request: pytest.FixtureRequest
) -> None:
    """`--update-goldens` records it for the tests that do without the controller."""
    run = argo.run(compiled(argo_moments.PARTS))
    if request.config.getoption("--update-goldens"):
        argo_moments.write("parts", run.workflow)
    now = read_nodes(t.cast("t.Any", run.workflow))
    before = read_nodes(argo_moments.read("parts"))

    def shown(nodes: t.Mapping[str, t.Any]) -> dict[str, tuple[str, str]]:
        return {
            node["name"].partition(".")[2]: (node["type"], node["phase"]) for node in nodes.values()
        }

    assert shown(now) == shown(before)


def test_a_leaf_that_is_skipped_below_a_failure_in_another_part(argo: argo_oracle.Session) -> None:
    one, two, three = (Part(group=name) for name in "123")
    workflow = flow(
        "skipped",
        sh("bad", "exit 1", part=one),
        sh("good", "true", part=one),
        sh("calm", "true", depends_on=[on_completion("bad"), on_failure("good")], part=two),
        sh("after", "true", depends_on=[any_of("calm", "bad")], part=three),
        sh("leaf", "true", depends_on=[on_failure("calm")], part=three),
    )
    outcome = Outcome(workflow, argo.run(compiled(workflow)))
    assert outcome.states == {
        "bad": "failed",
        "good": "succeeded",
        "calm": "skipped",
        "after": "succeeded",
        "leaf": "skipped",
    }
    assert outcome.status == "failed"


def test_a_group_that_failed_by_its_verdict_is_followed_by_others(
    argo: argo_oracle.Session,
) -> None:
    """What follows a group is found by its last tasks, and waits for ever if there are none."""
    one, two = Part(group="1"), Part(group="2")
    inner = [sh("a", "exit 1", part=one), sh("b", "true", depends_on=["a"], part=two)]
    workflow = flow(
        "followed",
        group("g", *inner),
        sh("alarm", "true", depends_on=[on_failure("g")]),
        sh("never", "true", depends_on=["g"]),
        sh("always", "true", depends_on=[on_completion("g")]),
    )
    outcome = Outcome(workflow, argo.run(compiled(workflow)))
    assert outcome.states == {
        "g": "failed",
        "g/a": "failed",
        "g/b": "omitted",
        "alarm": "succeeded",
        "never": "omitted",
        "always": "succeeded",
    }
    assert outcome.status == "failed"


@pytest.mark.parametrize("on", ["failure", "error"])
@pytest.mark.parametrize("kind", ["failure", "error"])
def test_retries_of_one_kind_see_how_a_group_in_parts_failed(
    argo: argo_oracle.Session, shared: Path, on: t.Literal["failure", "error"], kind: str
) -> None:
    one, two = Part(group="1"), Part(group="2")
    file = shared / f"{on}-{kind}"
    when = None if kind == "failure" else compare(ref("mark"), ">", 1)  # which is no number
    inner = [
        sh("mark", f"echo x | tee -a {file}", part=one),
        sh("a", "exit 1", when=when, depends_on=["mark"], part=two),
    ]
    workflow = flow("kinds", group("g", *inner, retry=Retry(limit=1, on=(on,))))
    outcome = Outcome(workflow, argo.run(compiled(workflow)))
    assert outcome.status == "failed"
    assert len(file.read_text().split()) == (2 if on == kind else 1)


@pytest.mark.parametrize("bad", ["", "a3", "b2"])
def test_a_step_that_needs_many_of_other_parts(bad: str, argo: argo_oracle.Session) -> None:
    def part(group: str, *names: str) -> list[Step]:
        label = Part(group=group)
        return [sh(name, f"test {name} != {bad or 'none'}", part=label) for name in names]

    first, second = (f"a{n}" for n in range(6)), (f"b{n}" for n in range(4))
    needed = ["a0", "a1", "a2", "a3", "a5", "b1", "b2"]
    three = Part(group="3")
    workflow = flow(
        "joined",
        *part("1", *first),
        *part("2", *second),
        sh("join", "true", depends_on=needed, part=three),
        sh("after", "true", depends_on=["join"], part=three),
        sh("loose", "true", depends_on=[*needed, "a4"]),
    )
    assert " matches " in compiled(workflow)
    outcome = Outcome(workflow, argo.run(compiled(workflow)))
    state = "omitted" if bad else "succeeded"
    for name in ("join", "after", "loose"):
        assert outcome.states[name] == state, outcome.messages
    assert outcome.status == ("failed" if bad else "succeeded")


def test_a_bound_holds_for_all_steps_in_parts_of_a_group(
    argo: argo_oracle.Session, shared: Path
) -> None:
    one, two = Part(group="1"), Part(group="2")
    file = shared / "running"
    script = f"echo + >> {file}; sleep 0.3; echo - >> {file}"
    # Of the first part, the first waits for another beside it, however late that is.
    begun = shared / "begun"
    beside = f"echo >> {begun}; until test $(wc -l < {begun}) -ge 2; do sleep 0.05; done"
    together = f"echo + >> {file}; {beside}; sleep 0.3; echo - >> {file}"
    inner = [
        *(sh(name, together, part=one) for name in "abc"),
        *(sh(name, script, part=two) for name in "de"),
        sh("f", script),
    ]
    workflow = flow("bounded", group("g", *inner, max_parallel=2))
    outcome = Outcome(workflow, argo.run(compiled(workflow)))
    assert outcome.status == "succeeded"
    running, most = 0, 0
    for line in file.read_text().split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    assert (running, most) == (0, 2)


def test_a_step_that_an_exit_handler_reads_stays_in_the_first_run(
    argo: argo_oracle.Session, shared: Path
) -> None:
    told = shared / "told"
    flat = flow(
        "stays",
        sh("one", "echo 1", result="int"),
        sh(
            "two",
            "echo $((COULER_INPUT_n + 1))",
            inputs=[given("n", ref("one"), "int")],
            result="int",
        ),
        sh(
            "three",
            "echo $((COULER_INPUT_n + 1))",
            inputs=[given("n", ref("two"), "int")],
            result="int",
        ),
        exit_handlers=(
            ExitHandler(
                name="tell",
                on="success",
                steps=(sh("say", f'echo "$1" > {told}', or_else(ref("two"), 0)),),
            ),
        ),
        outputs=[out("last", "int", source=ref("three"))],
    )
    context = PassContext(weigh=lambda found: ArgoBackend().footprint(found, Target()))
    workflow = Split(run_steps=1).run(resolve_defaults(flat), context)
    assert [step.part and step.part.run for step in workflow.steps] == ["run-1", None, "run-2"]
    outcome = Outcome(workflow, argo.run(compiled(workflow)))
    assert (outcome.status, outcome.run_outputs) == ("succeeded", {"last": 3})
    assert told.read_text() == "2\n"
