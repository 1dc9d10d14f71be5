"""Passes in a row: checked, logged, and free of cost where there are none."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

import pytest

from couler.errors import InvalidWorkflowError
from couler.ir.workflow import Container, ExitHandler, Group, Step, Workflow
from couler.optimizers import pipeline as pipeline_module
from couler.optimizers.base import Pass, PassContext, options_of
from couler.optimizers.diff import Added, Changed, Moved, Removed, diff
from couler.optimizers.log import PassLog, PassRecord, Size, measure
from couler.optimizers.log_text import log_text
from couler.optimizers.pipeline import Pipeline, default_pipeline

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
    planned, log = default_pipeline().run(FLOW)
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


def test_way_back_to_the_source_steps() -> None:
    _, log = Pipeline((Wrap("one"), Wrap("two"))).run(FLOW)
    assert log.source_steps("two/one/b") == ("b",)
    assert log.source_steps("two") == ("a", "b", "c")
    assert log.source_steps("no-such-step") == ()


def test_first_broken_pass_is_named() -> None:
    with pytest.raises(InvalidWorkflowError, match='the pass "break" made a workflow') as caught:
        Pipeline((Keep(), Break(), Wrap())).run(FLOW)
    assert [one.code for one in caught.value.diagnostics] == ["CLR160"]


def test_workflow_is_verified_before_the_first_pass() -> None:
    broken = Break().run(FLOW, PassContext())
    with pytest.raises(InvalidWorkflowError, match="the workflow is not valid"):
        Pipeline((Keep(),)).run(broken)
    assert Pipeline((Keep(),)).run(broken, verified=True)[0] is broken


def test_callbacks_get_each_record() -> None:
    seen: list[PassRecord] = []
    _, log = Pipeline((Keep(), Wrap()), (seen.append,)).run(FLOW)
    assert tuple(seen) == log.records


def test_passes_are_told_of_the_engine() -> None:
    told = []

    @dataclass(frozen=True)
    class Listen(Keep):
        def run(self, workflow: Workflow, context: PassContext) -> Workflow:
            told.append((context.engine, context.profile))
            return workflow

    Pipeline((Listen(),)).run(FLOW, engine="argo", profile="argo-minimal-crd")
    assert told == [("argo", "argo-minimal-crd")]


def test_what_a_pass_is() -> None:
    assert isinstance(Wrap(), Pass)
    assert not isinstance(object(), Pass)
    assert options_of(Wrap("x")) == {"into": "x"}


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


def test_log_as_text() -> None:
    _, log = Pipeline((Wrap("part"), Keep())).run(FLOW)
    lines = log_text(log.records).splitlines()
    assert lines[0].split() == ["pass", "seconds", "steps", "edges", "bytes"]
    assert lines[1].startswith("wrap(into=part)")
    assert "3 -> 4" in lines[1]
    assert lines[2:5] == ["    3 steps make one group.", "    + part", "    > a is now part/a"]
    assert lines[-1] == "    nothing changed"
    assert log_text(()) == "no passes ran"


def test_long_lists_of_changes_are_cut() -> None:
    flow = Workflow(name="w", steps=tuple(step(f"s{number}") for number in range(50)))
    _, log = Pipeline((Wrap(),)).run(flow)
    assert log_text(log.records).splitlines()[-1] == "    ... and 31 more changes"


class TestDiff:
    def test_same(self) -> None:
        assert diff(FLOW, FLOW) == ()
        assert diff(FLOW, FLOW.model_copy()) == ()

    def test_added_removed_changed(self) -> None:
        after = Workflow(name="w", steps=(step("a"), step("b"), step("d")), max_parallel=2)
        assert diff(FLOW, after) == (
            Changed(None, ("max_parallel",)),
            Changed("b", ("depends_on",)),
            Added("d"),
            Removed("c"),
        )

    def test_action(self) -> None:
        other = Step(name="a", action=Container(image="alpine"))
        assert diff(FLOW, FLOW.model_copy(update={"steps": (other, *FLOW.steps[1:])})) == (
            Changed("a", ("action",)),
        )

    def test_step_inside_a_group_changes_the_group_no_further(self) -> None:
        def flow(inner: Step) -> Workflow:
            return Workflow(name="w", steps=(Step(name="g", action=Group(steps=(inner,))),))

        after = flow(step("a").model_copy(update={"timeout_s": 3.0}))
        assert diff(flow(step("a")), after) == (Changed("g/a", ("timeout_s",)),)

    def test_exit_handlers(self) -> None:
        handler = ExitHandler(name="tell", on="any", steps=(step("a"),))
        assert diff(FLOW, FLOW.model_copy(update={"exit_handlers": (handler,)})) == (
            Added("exit:tell/a"),
        )

    def test_fused_steps_are_removed_not_moved(self) -> None:
        fused = Workflow(name="w", steps=(step("a-b"), step("c", "a-b")))
        assert diff(FLOW, fused, {"a-b": ("a", "b")}) == (
            Added("a-b"),
            Changed("c", ("depends_on",)),
            Removed("a"),
            Removed("b"),
        )

    def test_renamed_step_has_moved_if_the_pass_says_so(self) -> None:
        renamed = Workflow(name="w", steps=(step("a"), step("b", "a"), step("z")))
        assert diff(FLOW, renamed, {"z": ("c",)}) == (Moved("c", "z", ("depends_on",)),)
        assert diff(FLOW, renamed) == (Added("z"), Removed("c"))


def test_size() -> None:
    grouped = Wrap().run(FLOW, PassContext())
    assert (measure(grouped).steps, measure(grouped).edges) == (4, 2)
    assert measure(grouped).size_bytes > measure(FLOW).size_bytes > 0
