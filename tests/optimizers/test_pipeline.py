"""Passes in a row: checked, logged, and free of cost where there are none."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

import pytest
from hypothesis import given, settings, strategies as st

from couler.errors import ConfigurationError, InvalidWorkflowError
from couler.ir.base import FrozenDict
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Container, ExitHandler, Group, Step, Workflow
from couler.optimizers import pipeline as pipeline_module
from couler.optimizers.base import Pass, PassContext
from couler.optimizers.diff import Added, Changed, Moved, Removed, diff
from couler.optimizers.estimate import estimate
from couler.optimizers.log_text import known_text, log_text
from couler.optimizers.pipeline import PassLog, PassRecord, Pipeline, Size

RUN = Container(image="busybox", command=("true",))


def step(name: str, *after: str) -> Step:
    return Step(name=name, action=RUN, depends_on=after)


FLOW = Workflow(name="w", steps=(step("a"), step("b", "a"), step("c", "b")))


@dataclass(frozen=True)
class Keep:
    """Changes nothing."""

    name: t.ClassVar[str] = "keep"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        return workflow


@dataclass(frozen=True)
class Wrap:
    """Puts all steps into a group."""

    name: t.ClassVar[str] = "wrap"
    into: str = "all"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        names = [one.name for one in workflow.steps]
        context.explain(f"{len(names)} steps make one group.")
        context.derive(self.into, names)
        group = Group(steps=workflow.steps, transparent=True)
        return workflow.model_copy(update={"steps": (Step(name=self.into, action=group),)})


@dataclass(frozen=True)
class Break:
    """Leaves a dependency on nothing."""

    name: t.ClassVar[str] = "break"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        return workflow.model_copy(update={"steps": workflow.steps[1:]})


def test_no_passes_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> t.NoReturn:
        raise AssertionError("an empty pipeline verifies nothing")

    monkeypatch.setattr(pipeline_module, "verify", refuse)
    planned, log = Pipeline().run(FLOW)
    assert planned is FLOW
    assert log == PassLog()


def test_passes_run_in_order_and_are_logged() -> None:
    planned, log = Pipeline((Keep(), Wrap(into="part"))).run(FLOW)
    assert [one.name for one in planned.steps] == ["part"]
    first, second = log.records
    assert (first.name, first.options, first.changes) == ("keep", {}, ())
    assert (second.name, second.options) == ("wrap", {"into": "part"})
    assert second.reason == "3 steps make one group."
    assert second.changes == (
        Added("part"),
        Moved("a", "part/a"),
        Moved("b", "part/b"),
        Moved("c", "part/c"),
    )
    assert second.size_before == Size(3, 2, second.size_before.size_bytes)
    assert (second.size_after.steps, second.size_after.edges) == (4, 2)
    assert second.seconds >= 0


def test_workflow_is_verified_before_the_first_pass() -> None:
    broken = Break().run(FLOW, PassContext())
    with pytest.raises(InvalidWorkflowError, match="the workflow is not valid"):
        Pipeline((Keep(),)).run(broken)
    assert Pipeline((Keep(),)).run(broken, verified=True)[0] is broken


def test_log_as_json() -> None:
    _, log = Pipeline((Wrap("part"),)).run(FLOW)
    [record] = json.loads(json.dumps(log.to_json()))
    assert record["pass"] == "wrap"
    assert record["changes"][1] == {"kind": "moved", "step": "a", "to": "part/a", "fields": []}
    assert record["sources"] == {
        "part": ["a", "b", "c"],
        "part/a": ["a"],
        "part/b": ["b"],
        "part/c": ["c"],
    }


def test_callback_sees_what_a_broken_pass_made() -> None:
    seen: list[PassRecord] = []
    with pytest.raises(InvalidWorkflowError, match='"break" made'):
        Pipeline((Keep(), Break(), Wrap()), (seen.append,)).run(FLOW)
    assert [(record.name, len(record.errors)) for record in seen] == [("keep", 0), ("break", 1)]
    assert [step.name for step in seen[-1].after.steps] == ["b", "c"]


@pytest.mark.parametrize(
    ("gives", "error", "words"),
    [(None, ConfigurationError, "gave NoneType, not a workflow"), (KeyError("x"), KeyError, "x")],
)
def test_pass_that_fails_is_named(gives: object, error: type[Exception], words: str) -> None:
    @dataclass(frozen=True)
    class Fail(Keep):
        name: t.ClassVar[str] = "fail"

        def run(self, workflow: Workflow, context: PassContext) -> t.Any:
            if isinstance(gives, Exception):
                raise gives
            return gives

    with pytest.raises(error, match=words) as caught:
        Pipeline((Fail(),)).run(FLOW)
    told = "\n".join((str(caught.value), *getattr(caught.value, "__notes__", ())))
    assert '"fail"' in told
    assert "--no-pass fail" in told


@dataclass(frozen=True)
class Rename:
    """Gives every step of the outermost scope another name, and says so."""

    name: t.ClassVar[str] = "rename"
    suffix: str

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        def other(name: str) -> str:
            return f"{name}{self.suffix}"

        for one in workflow.steps:
            context.derive(other(one.name), [one.name])
        steps = (
            one.model_copy(
                update={
                    "name": other(one.name),
                    "depends_on": tuple(other(str(before)) for before in one.depends_on),
                }
            )
            for one in workflow.steps
        )
        return workflow.model_copy(update={"steps": tuple(steps)})


@dataclass(frozen=True)
class Merge:
    """Lets one step of the outermost scope stand for itself and the next one."""

    name: t.ClassVar[str] = "merge"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        if len(workflow.steps) < 2 or any(
            isinstance(one.action, Group) for one in workflow.steps[:2]
        ):
            return workflow
        one, other, *others = workflow.steps
        context.derive(one.name, [one.name, other.name])
        label = f"{one.labels['from']}.{other.labels['from']}"
        both = one.model_copy(update={"labels": FrozenDict({"from": label})})
        free = (later.model_copy(update={"depends_on": ()}) for later in others)
        return workflow.model_copy(update={"steps": (both, *free)})


@settings(max_examples=15)
@given(
    st.integers(1, 5),
    st.lists(
        st.sampled_from([Wrap("p"), Wrap("q"), Rename("-x"), Rename("-y"), Merge(), Keep()]),
        max_size=6,
    ),
)
def test_every_step_leads_back_to_the_users(count: int, passes: list[Pass]) -> None:
    names = [f"s{number}" for number in range(count)]
    steps = (step(name, *names[:number]) for number, name in enumerate(names))
    flow = Workflow(
        name="w",
        steps=tuple(
            one.model_copy(update={"labels": FrozenDict({"from": one.name})}) for one in steps
        ),
    )
    after, log = Pipeline(tuple(passes)).run(flow)
    leads: dict[str, set[str]] = {name: set() for name in names}
    for path, one in steps_by_path(after):
        sources = log.source_steps(path)
        if isinstance(one.action, Group):
            assert set(sources) <= set(names)
        else:
            assert sources == tuple(one.labels["from"].split("."))
        for source in sources:
            leads[source].add(path)
    assert {name: set(log.result_steps(name)) for name in names} == leads


def test_many_changes_that_are_alike_share_a_line() -> None:
    flow = Workflow(name="w", steps=tuple(step(f"s{number}") for number in range(50)))
    _, log = Pipeline((Wrap(),)).run(flow)
    assert log_text(log.records).splitlines()[2:] == [
        "    + all",
        "    > 50 steps have moved: all/s0, all/s1, all/s2, ...",
    ]


def test_many_changes_of_many_kinds_are_counted() -> None:
    @dataclass(frozen=True)
    class Alter(Keep):
        def run(self, workflow: Workflow, context: PassContext) -> Workflow:
            for one in workflow.steps:
                context.explain(f"It is {one.name}.", step=one.name)
            context.explain("", step="s30")
            steps = (one.model_copy(update={"timeout_s": 9.0}) for one in workflow.steps[:-4])
            return workflow.model_copy(update={"steps": tuple(steps), "max_parallel": 3})

    flow = Workflow(name="w", steps=tuple(step(f"s{number}") for number in range(50)))
    _, log = Pipeline((Alter(),)).run(flow)
    lines = log_text(log.records).splitlines()
    assert lines[1:3] == ["    ~ the workflow: max_parallel", "    ~ s0: timeout_s (It is s0.)"]
    assert len(lines) == 22
    assert lines[-1] == "    ... and 31 more changes"


@pytest.mark.parametrize(("count", "told"), [(1, "1 step"), (2, "2 steps"), (1200, "1,200 steps")])
def test_how_many_steps_the_estimates_know(count: int, told: str) -> None:
    flow = Workflow(name="w", steps=tuple(step(f"s{number}") for number in range(count)))
    assert known_text(estimate(flow), None) == (
        f"estimates: seconds are known of 0 of {told}, memory of 0; no prices are set"
    )


def test_removed_and_changed_in_numbers() -> None:
    @dataclass(frozen=True)
    class Halve(Keep):
        def run(self, workflow: Workflow, context: PassContext) -> Workflow:
            kept = workflow.steps[::2]
            steps = tuple(one.model_copy(update={"timeout_s": 9.0}) for one in kept)
            return workflow.model_copy(update={"steps": steps})

    flow = Workflow(name="w", steps=tuple(step(f"s{number}") for number in range(50)))
    _, log = Pipeline((Halve(),)).run(flow)
    assert log_text(log.records).splitlines()[1:] == [
        "    ~ timeout_s of 25 steps: s0, s2, s4, ...",
        "    - 25 steps: s1, s3, s5, ...",
    ]


def test_many_steps_that_stayed_with_a_reason() -> None:
    @dataclass(frozen=True)
    class Explain(Keep):
        def run(self, workflow: Workflow, context: PassContext) -> Workflow:
            for number, one in enumerate(workflow.steps):
                told = "It is even." if number % 2 == 0 else f"It is {number}."
                context.explain(told, step=one.name)
            return workflow

    flow = Workflow(name="w", steps=tuple(step(f"s{number}") for number in range(50)))
    _, log = Pipeline((Explain(),)).run(flow)
    assert log_text(log.records).splitlines()[1:] == [
        "    nothing changed",
        "    = 25 steps: s0, s2, s4, ... (It is even.)",
        *(f"    = s{number} (It is {number}.)" for number in range(1, 39, 2)),
        "    ... and 6 more steps that stayed",
    ]


class TestDiff:
    def test_added_removed_changed(self) -> None:
        after = Workflow(name="w", steps=(step("a"), step("b"), step("d")), max_parallel=2)
        assert diff(FLOW, after) == (
            Changed(None, ("max_parallel",)),
            Changed("b", ("depends_on",)),
            Added("d"),
            Removed("c"),
        )

    def test_exit_handlers(self) -> None:
        handler = ExitHandler(name="tell", on="any", steps=(step("a"),))
        assert diff(FLOW, FLOW.model_copy(update={"exit_handlers": (handler,)})) == (
            Added("exit:tell/a"),
        )

    def test_steps_move_with_their_group_whatever_they_are_called(self) -> None:
        def group(name: str) -> Step:
            inner = Step(name="inner", action=Group(steps=(step("fit"),)))
            return Step(name=name, action=Group(steps=(step("fit"), inner)))

        flow = Workflow(name="w", steps=(step("fit"), group("g"), group("h")))
        after = Wrap("all").run(flow, PassContext())
        changes = diff(flow, after, {"all": ("fit", "g", "h")})
        assert set(changes) == {
            Added("all"),
            *(
                Moved(path, f"all/{path}")
                for top in ("g", "h")
                for path in (top, f"{top}/fit", f"{top}/inner", f"{top}/inner/fit")
            ),
            Moved("fit", "all/fit"),
        }

    def test_renamed_step_has_moved_if_the_pass_says_so(self) -> None:
        renamed = Workflow(name="w", steps=(step("a"), step("b", "a"), step("z")))
        assert diff(FLOW, renamed, {"z": ("c",)}) == (Moved("c", "z", ("depends_on",)),)
        assert diff(FLOW, renamed) == (Added("z"), Removed("c"))


@dataclass(frozen=True)
class GiveUp:
    """Says what it did, and what it could not do."""

    name: t.ClassVar[str] = "give-up"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        context.explain("One is done.")
        context.give_up("The other is not.")
        return workflow


def test_what_a_pass_could_not_do_is_kept_apart() -> None:
    _, log = Pipeline((GiveUp(),), name="mine").run(FLOW)
    assert log.pipeline == "mine"
    assert log.records[0].reason == "One is done. The other is not."
    assert log.records[0].gave_up == ("The other is not.",)
