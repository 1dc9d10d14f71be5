"""Rules for types."""

from __future__ import annotations

import pytest

from couler.ir.policies import Foreach, Loop
from couler.ir.storage import ConfigKey, EnvVar
from couler.ir.values import (
    Compare,
    Field,
    Literal,
    OrElse,
    ParamRef,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
    ValueType,
)
from couler.ir.workflow import Input, Output, Parameter, Schedule, Script, Step
from tests.support.sample_flows import ITEM, OVER_LIST, A, echo, flow, group
from tests.support.verification import codes, only

MODEL = StepRef(step="a", output="model")
FILE = Output(name="model", type="file", path="/tmp/model")


def giving(value_type: ValueType, value: Value = A, declared: ValueType = "json") -> list[str]:
    """What is found where an output of a type is given to an input."""
    output = Output(type=value_type)
    return codes(flow(echo("a", outputs=(output,)), echo("b", inputs=(_input(value, declared),))))


def _input(value: Value, declared: ValueType, **fields: bool) -> Input:
    return Input(name="x", value=value, type=declared, **fields)


@pytest.mark.parametrize(
    ("value", "declared", "fits"),
    [
        (1, "int", True),
        (1, "float", True),
        (1, "str", True),  # a reader of text gets any value as its JSON
        ("1", "int", True),  # a reader of any other type reads text as JSON
        ("one", "int", False),
        (1.5, "int", False),
        (True, "int", False),
        ((1, 2), "list", True),
        ((1, 2), "dict", False),
        (None, "json", True),
        (None, "int", False),
        ("s3://bucket/key", "file", True),
        (3, "file", False),
    ],
)
def test_a_literal_and_the_declared_type(value: object, declared: ValueType, fits: bool) -> None:
    found = codes(flow(echo("a", inputs=(_input(Literal(value=value), declared),))))
    assert found == ([] if fits else ["CLR175"])


@pytest.mark.parametrize(
    ("produced", "declared", "expected"),
    [
        ("str", "int", []),
        ("int", "str", []),
        ("float", "int", []),
        ("json", "dict", []),
        ("int", "bool", ["CLR176"]),
        ("list", "dict", ["CLR176"]),
        ("bool", "float", ["CLR176"]),
        ("int", "file", ["CLR178"]),
        ("str", "directory", ["CLR178"]),
    ],
)
def test_an_output_and_the_declared_type(
    produced: ValueType, declared: ValueType, expected: list[str]
) -> None:
    assert giving(produced, declared=declared) == expected


def test_text_of_other_types_is_warned_of_where_the_type_is_used() -> None:
    typed = Script(image="python:3.12-slim", source="...", function="f")
    producer = echo("a", outputs=(Output(type="int"),))
    found = only(flow(producer, Step(name="b", action=typed, inputs=(_input(A, "str"),))))
    assert (found.code, found.severity) == ("CLR184", "warning")
    inside = group("b", echo("c"), inputs=(_input(Literal(value=1), "str"),))
    assert codes(flow(inside)) == ["CLR184"]


def test_an_item_of_a_gathered_list_has_the_type_of_the_output() -> None:
    producer = echo("a", ITEM, foreach=OVER_LIST, outputs=(Output(type="int"),))
    over_a = Foreach(over={"item": A})
    assert codes(flow(producer, echo("b", foreach=over_a, inputs=(_input(ITEM, "int"),)))) == []
    wrong = echo("b", foreach=over_a, inputs=(_input(ITEM, "dict"),))
    assert codes(flow(producer, wrong)) == ["CLR176"]


@pytest.mark.parametrize(
    "step",
    [
        echo("b", MODEL),
        echo("b", Template(parts=("model: ", MODEL))),
        echo("b", Field(of=MODEL, path=("a",))),
        echo("b", env=(EnvVar(name="X", value=MODEL),)),
        echo("b", when=Compare(left=MODEL, op="==", right=Literal(value="x"))),
        echo("b", inputs=(_input(MODEL, "str"),)),
        echo("b", inputs=(_input(MODEL, "json"),)),
        echo("b", inputs=(_input(OrElse(value=MODEL, default=Literal(value="")), "str"),)),
    ],
)
def test_a_file_is_no_value(step: Step) -> None:
    found = only(flow(echo("a", outputs=(FILE,)), step))
    assert found.code == "CLR177"
    assert "Declare an input of that type" in found.message


def test_files_go_to_inputs_of_their_type() -> None:
    producer = echo("a", outputs=(FILE,))
    assert codes(flow(producer, echo("b", inputs=(_input(MODEL, "file"),)))) == []
    assert codes(flow(producer, echo("b", inputs=(_input(MODEL, "directory"),)))) == ["CLR176"]


def test_many_files() -> None:
    producer = echo("a", ITEM, foreach=OVER_LIST, outputs=(FILE,))
    many, one = _input(MODEL, "file", many=True), _input(MODEL, "file")
    assert codes(flow(producer, echo("b", inputs=(many,)))) == []
    assert codes(flow(producer, echo("b", inputs=(one,)))) == ["CLR179"]
    assert codes(flow(echo("a", outputs=(FILE,)), echo("b", inputs=(many,)))) == ["CLR179"]
    values = _input(A, "str", many=True)
    assert codes(flow(producer, echo("b", inputs=(values,)))) == ["CLR179"]


def test_items_of_a_literal_list_can_be_locations_of_files() -> None:
    over = Foreach(over={"item": Literal(value=("s3://a", "s3://b"))})
    assert codes(flow(echo("a", foreach=over, inputs=(_input(ITEM, "file"),)))) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Literal(value=(1, 2)), []),
        (Literal(value="a,b"), ["CLR180"]),
        (Literal(value=3), ["CLR180"]),
        (ParamRef(name="names"), []),
        (ParamRef(name="text"), []),  # may be JSON: known only when it is read
        (ParamRef(name="size"), ["CLR180"]),
        (Field(of=ParamRef(name="names"), path=(0,)), []),
    ],
)
def test_a_foreach_goes_over_lists(value: Value, expected: list[str]) -> None:
    parameters = (
        Parameter(name="names", type="list", default=()),
        Parameter(name="text", default="[]"),
        Parameter(name="size", type="int", default=1),
    )
    step = echo("a", foreach=Foreach(over={"item": value}))
    assert codes(flow(step, parameters=parameters)) == expected


def test_lists_of_a_foreach_are_equally_long() -> None:
    over = Foreach(over={"x": Literal(value=(1, 2)), "y": Literal(value=(1,))})
    found = only(flow(echo("a", foreach=over)))
    assert (found.code, "x has 2, y has 1" in found.message) == ("CLR182", True)


ENTRY = ConfigKey(config_map="site", key="region")


@pytest.mark.parametrize(
    ("parameter", "what"),
    [
        (Parameter(name="p", type="int", default="one"), "its default is 'one'"),
        (Parameter(name="p"), "no default and is not required"),
        (Parameter(name="p", required=True, default="x"), "never used"),
        (Parameter(name="p", default="x", choices=("a", "b")), "none of its choices"),
        (Parameter(name="p", default="a", choices=("a", 1)), "one of its choices is 1"),
        (Parameter(name="p", type="json", default=1, choices=(True, 2)), "none of its choices"),
        (Parameter(name="p", required=True, config=ENTRY), "never read"),
        (Parameter(name="p", default="a", choices=("a",), config=ENTRY), "not compared"),
        (Parameter(name="p", type="int", default="a", config=ENTRY), "its default is 'a'"),
        (
            Parameter(name="p", config=ConfigKey(config_map="site", key="a", optional=True)),
            "Give it a default",
        ),
    ],
)
def test_defaults_and_choices_of_parameters(parameter: Parameter, what: str) -> None:
    found = only(flow(echo("a"), parameters=(parameter,)))
    assert found.code == "CLR183"
    assert what in found.message


def test_nobody_gives_values_to_a_scheduled_run() -> None:
    """Argo refuses such a CronWorkflow."""
    parameters = (Parameter(name="p", required=True), Parameter(name="q", default="x"))
    schedule = Schedule(cron=("0 4 * * *",))
    found = only(flow(echo("a"), parameters=parameters, schedule=schedule))
    assert (found.code, '"p"' in found.message) == ("CLR186", True)


def test_defaults_of_outputs() -> None:
    def has(value_type: ValueType, default: object) -> list[str]:
        output = Output(name="n", type=value_type, path="n", default=default)
        return codes(flow(echo("a", outputs=(output,))))

    assert has("int", 0) == has("str", "") == has("list", ()) == []
    assert has("int", "none") == has("str", 3) == ["CLR175"]


def test_the_first_value_of_a_loop() -> None:
    again = Loop(condition=Compare(left=RoundRef(), op="<", right=Literal(value=3)))

    def starts_with(value: object) -> list[str]:
        before = RoundRef(initial=Literal(value=value))
        return codes(flow(echo("a", before, loop=again, outputs=(Output(type="int"),))))

    assert starts_with(0) == []
    assert starts_with("zero") == ["CLR175"]


@pytest.mark.parametrize(
    ("declared", "path", "expected"),
    [
        ("json", ("a", 0), []),
        ("str", ("a",), []),  # text is read as JSON first
        ("list", (0,), []),
        ("dict", ("a",), []),
        ("int", ("a",), ["CLR185"]),
        ("list", ("a",), ["CLR185"]),
        ("dict", (0,), ["CLR185"]),
        ("int", (), []),
    ],
)
def test_parts_of_values(
    declared: ValueType, path: tuple[str | int, ...], expected: list[str]
) -> None:
    assert giving(declared, Field(of=A, path=path)) == expected


def test_outputs_of_groups_have_types() -> None:
    wrong = Output(type="int", value=Literal(value="one"))
    assert codes(flow(group("g", echo("a"), outputs=(wrong,)))) == ["CLR175"]
    wrong = Output(name="model", type="file", value=A)
    assert codes(flow(group("g", echo("a"), outputs=(wrong,)))) == ["CLR178"]
    assert codes(flow(echo("a"), outputs=(Output(type="list", value=RunRef(field="id")),))) == []


def test_an_output_of_a_group_has_its_declared_type_outside() -> None:
    inside = group("g", echo("a"), outputs=(Output(type="bool", value=A),))
    wrong = echo("b", inputs=(_input(StepRef(step="g"), "int"),))
    assert codes(flow(inside, wrong)) == ["CLR176"]


def test_an_item_given_to_a_group_has_its_declared_type_inside() -> None:
    given = Input(name="n", value=ITEM, type="int")
    inside = group(
        "g",
        echo("a", inputs=(_input(ParamRef(name="n"), "bool"),)),
        foreach=OVER_LIST,
        inputs=(given,),
    )
    assert codes(flow(inside)) == ["CLR176"]
