"""Rules for references."""

from __future__ import annotations

import pytest

from couler.ir.policies import Foreach, Loop
from couler.ir.storage import EmptyVolume, Mount
from couler.ir.values import (
    Compare,
    Field,
    ItemRef,
    Literal,
    OrElse,
    ParamRef,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
)
from couler.ir.workflow import (
    ExitHandler,
    Http,
    Input,
    Job,
    Output,
    Parameter,
    Step,
    Suspend,
)
from tests.support.sample_flows import AGAIN, ITEM, OVER_LIST, A, echo, flow, group
from tests.support.verification import codes, only

NONE = Literal(value="none")


@pytest.mark.parametrize(
    "value",
    [
        Field(of=StepRef(step="x"), path=("a",)),
        OrElse(value=StepRef(step="x"), default=NONE),
        OrElse(value=NONE, default=StepRef(step="x")),
        Template(parts=("a", StepRef(step="x"))),
    ],
)
def test_references_inside_values_are_seen(value: Value) -> None:
    assert only(flow(echo("a", value))).code == "CLR160"


def test_references_of_every_field_are_seen() -> None:
    unknown = StepRef(step="x")
    step = echo(
        "a",
        unknown,
        when=Compare(left=unknown, op="==", right=NONE),
        foreach=Foreach(over={"item": unknown}),
        loop=Loop(condition=Compare(left=RoundRef(), op="==", right=unknown)),
        inputs=(Input(name="i", value=unknown),),
    )
    fields = ["when", "foreach.item", "loop", "inputs.i", "args"]
    found = flow(step)
    assert codes(found) == ["CLR160"] * len(fields)


def test_a_group_cannot_be_looked_into_or_out_of() -> None:
    inside = group("g", echo("a"), echo("b", StepRef(step="z")), outputs=())
    found = only(flow(echo("z"), inside))
    assert (found.code, found.step) == ("CLR160", "g/b")
    assert 'in the group "g"' in found.message
    assert codes(flow(group("g", echo("a")), echo("b", StepRef(step="a")))) == ["CLR160"]


def test_an_unknown_parameter() -> None:
    parameters = (Parameter(name="dataset", default="digits"),)
    found = only(flow(echo("a", ParamRef(name="datasets")), parameters=parameters))
    assert found.code == "CLR161"
    assert 'Did you mean "dataset"?' in found.message


def test_a_group_sees_its_inputs_and_not_the_parameters() -> None:
    parameters = (Parameter(name="p", default="x"),)
    given = Input(name="size", value=ParamRef(name="p"))
    fits = group("g", echo("a", ParamRef(name="size")), inputs=(given,))
    assert codes(flow(fits, parameters=parameters)) == []
    found = only(flow(group("g", echo("a", ParamRef(name="p"))), parameters=parameters))
    assert found.code == "CLR161"
    assert 'add an input to "g"' in found.message


def test_which_kinds_have_a_result() -> None:
    def reads(step: Step) -> list[str]:
        return codes(flow(step, echo("b", A)))

    job = Job(manifest={"apiVersion": "v1", "kind": "Job"})
    assert reads(echo("a")) == []
    assert reads(Step(name="a", action=Http(url="https://example.org"))) == []
    assert reads(Step(name="a", action=job)) == ["CLR162"]
    assert reads(Step(name="a", action=Suspend())) == ["CLR162"]
    assert reads(echo("a", daemon=True)) == ["CLR162"]
    assert reads(group("a", echo("x"), outputs=())) == ["CLR162"]
    assert reads(group("a", echo("x"))) == []


def test_items() -> None:
    assert codes(flow(echo("a", ITEM, foreach=OVER_LIST))) == []
    assert codes(flow(echo("a", ITEM))) == ["CLR163"]
    assert codes(flow(echo("a", ItemRef(name="itme"), foreach=OVER_LIST))) == ["CLR163"]


def test_an_item_is_not_seen_inside_the_group_under_the_foreach() -> None:
    found = only(flow(group("g", echo("a", ITEM), foreach=OVER_LIST)))
    assert (found.code, found.step) == ("CLR163", "g/a")
    assert 'Pass the item of "g" into the group by an input' in found.message
    out = Output(value=ITEM)
    assert codes(flow(group("g", echo("a"), foreach=OVER_LIST, outputs=(out,)))) == ["CLR163"]


def test_a_condition_cannot_read_an_item() -> None:
    when = Compare(left=ITEM, op="==", right=NONE)
    found = only(flow(echo("a", foreach=OVER_LIST, when=when)))
    assert (found.code, "before there are items" in found.message) == ("CLR163", True)


def test_a_loops_condition_can_read_the_item() -> None:
    again = Loop(condition=Compare(left=RoundRef(), op="!=", right=ITEM))
    assert codes(flow(echo("a", foreach=OVER_LIST, loop=again))) == []


def test_rounds() -> None:
    before = RoundRef(initial=NONE)
    assert codes(flow(echo("a", before, loop=AGAIN))) == []
    assert codes(flow(echo("a", before))) == ["CLR164"]
    assert codes(flow(echo("a", RoundRef(), loop=AGAIN))) == ["CLR165"]
    unknown = RoundRef(output="scroe", initial=NONE)
    assert codes(flow(echo("a", unknown, loop=AGAIN))) == ["CLR162"]
    when = Compare(left=before, op="==", right=Literal(value="x"))
    found = only(flow(echo("a", when=when, loop=AGAIN)))
    assert (found.code, "before its loop begins" in found.message) == ("CLR164", True)


def test_a_step_reads_its_own_output() -> None:
    found = only(flow(echo("a", A)))
    assert (found.code, "Give the step a loop" in found.message) == ("CLR166", True)
    found = only(flow(echo("a", A, loop=AGAIN)))
    assert (found.code, "Read the previous round" in found.message) == ("CLR166", True)


def test_the_runs_status() -> None:
    status = RunRef(field="status")
    assert codes(flow(echo("a", status))) == ["CLR167"]
    assert codes(flow(echo("a"), outputs=(Output(value=status),))) == ["CLR167"]
    deep = ExitHandler(name="h", on="any", steps=(group("g", echo("b", status)),))
    assert codes(flow(echo("a"), exit_handlers=(deep,))) == []


def test_volumes() -> None:
    mount = Mount(volume="scrath", path="/tmp/x")
    volumes = (EmptyVolume(name="scratch"),)
    found = only(flow(echo("a", mounts=(mount,)), volumes=volumes))
    assert (found.code, 'Did you mean "scratch"?' in found.message) == ("CLR168", True)


def test_an_exit_handler_reads_with_a_default() -> None:
    def handler(*steps: Step) -> list[str]:
        handlers = (ExitHandler(name="tell", on="any", steps=steps),)
        total = Output(name="total", path="total", default="0")
        return codes(flow(echo("a", outputs=(total,)), exit_handlers=handlers))

    assert handler(echo("b", OrElse(value=A, default=NONE))) == []
    assert handler(echo("b", A)) == ["CLR215"]
    assert handler(echo("b", StepRef(step="a", output="total"))) == []
    assert handler(echo("b", StepRef(step="z"))) == ["CLR160"]
    assert handler(echo("b", depends_on=("a",))) == ["CLR160"]
    # Its own steps come first.
    assert handler(echo("a"), echo("b", A)) == []
    # A group inside a handler is closed like any other.
    inside = group("g", echo("c", OrElse(value=A, default=NONE)))
    assert handler(inside) == ["CLR160"]


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (group("a", echo("x"), outputs=(Output(),)), "has no value"),
        (group("a", echo("x"), outputs=(Output(value=NONE, path="x"),)), "has path"),
        (echo("a", outputs=(Output(value=NONE),)), "has a value"),
        (echo("a", outputs=(Output(json_path="{.a}"),)), "has a json_path"),
        (echo("a", outputs=(Output(name="f", type="file"),)), "without a path"),
        (echo("a", daemon=True, outputs=(Output(),)), "daemon"),
        (Step(name="a", action=Suspend(seconds=1), outputs=(Output(),)), "is never entered"),
        (
            Step(
                name="a",
                action=Http(url="https://example.org"),
                outputs=(Output(path="x"),),
            ),
            "has a path",
        ),
        (
            Step(
                name="a",
                action=Job(manifest={"apiVersion": "v1", "kind": "Job"}),
                outputs=(Output(),),
            ),
            "has no json_path",
        ),
        (echo("a", inputs=(Input(name="x", value=NONE, path="x"),)), "is no file"),
    ],
)
def test_outputs_that_their_step_cannot_give(step: Step, what: str) -> None:
    found = only(flow(step))
    assert found.code == "CLR169"
    assert what in found.message
