"""Rules for names."""

from __future__ import annotations

import pytest

from couler.ir.policies import Foreach, SourceRef
from couler.ir.storage import EmptyVolume, EnvVar
from couler.ir.values import ItemRef, Literal
from couler.ir.workflow import ExitHandler, Input, Output, Parameter, Schedule, Workflow
from tests.support.sample_flows import LIST, echo, flow, group
from tests.support.verification import codes, only


@pytest.mark.parametrize("name", ["a", "Train", "fit-2", "flip_coin", "a" * 128])
def test_legal_names_of_steps(name: str) -> None:
    assert codes(flow(echo(name))) == []


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("", None),
        ("fit model", "fit-model"),
        ("2nd", "nd"),
        ("-a", "a"),
        ("a/b", "a-b"),
        ("a.b", "a-b"),
        ("größe", "grosse"),
        ("名前", None),
        ("_a", "a"),
        ("a" * 129, "a" * 128),
        ("a\n", "a"),
    ],
)
def test_illegal_names_of_steps(name: str, better: str | None) -> None:
    found = only(flow(echo(name)))
    assert found.code == "CLR150"
    assert ("Did you mean" in found.message) == (better is not None)
    assert better is None or f'Did you mean "{better}"?' in found.message


def test_a_name_used_twice_is_reported_at_the_second_with_the_place_of_the_first() -> None:
    first = echo("a", source=SourceRef(file="flow.py", line=3))
    found = only(flow(first, echo("b"), echo("a", source=SourceRef(file="flow.py", line=9))))
    assert (found.code, str(found.source)) == ("CLR151", "flow.py:9")
    assert "(flow.py:3)" in found.message


def test_scopes_have_names_of_their_own() -> None:
    assert codes(flow(echo("a"), group("g", echo("a")))) == []


def test_names_that_differ_in_dash_and_underscore_only() -> None:
    found = only(flow(echo("fit_model"), echo("fit-model")))
    assert (found.code, found.step) == ("CLR152", "fit-model")
    assert '"fit_model"' in found.message
    assert codes(flow(echo("fit_model"), echo("fit-models"))) == []


def test_the_prefix_of_passes_is_reserved_for_them() -> None:
    assert only(flow(echo("couler-split-1"))).code == "CLR153"
    assert codes(flow(echo("couler-split-1", origin="split"))) == []


@pytest.mark.parametrize("name", ["w", "model-selection", "a1", "1a", "a" * 63])
def test_legal_names_of_workflows(name: str) -> None:
    assert codes(Workflow(name=name, steps=(echo("a"),))) == []


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("Model Selection", "model-selection"),
        ("model_selection", "model-selection"),
        ("-a-", "a"),
        ("a.b", "a-b"),
        ("a" * 64, "a" * 63),
    ],
)
def test_illegal_names_of_workflows(name: str, better: str) -> None:
    found = only(Workflow(name=name, steps=(echo("a"),)))
    assert found.code == "CLR150"
    assert f'Did you mean "{better}"?' in found.message


def test_the_name_of_a_scheduled_workflow_is_shorter() -> None:
    schedule = Schedule(cron=("0 4 * * *",))
    assert codes(Workflow(name="a" * 52, steps=(echo("a"),), schedule=schedule)) == []
    found = only(Workflow(name="a" * 53, steps=(echo("a"),), schedule=schedule))
    assert (found.code, "52" in found.message) == ("CLR150", True)


def _values(*names: str) -> list[Workflow]:
    """A workflow for each kind of name that values have."""
    one = Literal(value="x")
    over = Foreach(over=dict.fromkeys(names, LIST))
    return [
        flow(echo("a"), parameters=tuple(Parameter(name=name, default="x") for name in names)),
        flow(echo("a", inputs=tuple(Input(name=name, value=one) for name in names))),
        flow(echo("a", outputs=tuple(Output(name=name) for name in names))),
        flow(echo("a"), outputs=tuple(Output(name=name, value=one) for name in names)),
        flow(echo("a", ItemRef(name=names[0]), foreach=over)),
    ]


@pytest.mark.parametrize("name", ["x", "_x", "test_fraction", "learning-rate", "X1"])
def test_legal_names_of_values(name: str) -> None:
    assert [codes(workflow) for workflow in _values(name)] == [[]] * 5


@pytest.mark.parametrize("name", ["", "1x", "a b", "a.b", "-x", "x" * 129])
def test_illegal_names_of_values(name: str) -> None:
    assert [codes(workflow) for workflow in _values(name)] == [["CLR150"]] * 5


def test_names_of_values_used_twice() -> None:
    # A foreach is a map: it cannot hold a name twice.
    assert [codes(workflow) for workflow in _values("x", "x")[:4]] == [["CLR151"]] * 4
    assert [codes(workflow) for workflow in _values("a-b", "a_b")] == [["CLR152"]] * 5


def test_names_of_volumes() -> None:
    volumes = (EmptyVolume(name="Scratch"), EmptyVolume(name="data"), EmptyVolume(name="data"))
    assert codes(flow(echo("a"), volumes=volumes)) == ["CLR150", "CLR151"]


def test_names_of_exit_handlers() -> None:
    def handler(name: str) -> ExitHandler:
        return ExitHandler(name=name, on="any", steps=(echo("a"),))

    handlers = (handler("tell"), handler("tell"), handler("mail me"))
    assert codes(flow(echo("a"), exit_handlers=handlers)) == ["CLR151", "CLR150"]


def test_names_of_environment_variables() -> None:
    def has(*names: str) -> list[str]:
        return codes(flow(echo("a", env=tuple(EnvVar(name=name, value="x") for name in names))))

    assert has("PATH", "my.var", "_x") == []
    assert has("1X") == has("A B") == has("A=B") == has("") == ["CLR413"]
    assert has("COULER_INPUT_x") == ["CLR413"]
    assert has("X", "X") == ["CLR151"]
