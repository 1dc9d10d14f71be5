"""The models: frozen, exact about types, closed to unknown fields."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import ValidationError

from couler.ir.base import FrozenDict
from couler.ir.defaults import resolve_defaults
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Resources, Retry, SourceRef
from couler.ir.storage import EnvVar
from couler.ir.values import Field, FirstOf, Literal, OrElse, ParamRef, RoundRef, Template, walk
from couler.ir.walk import PathPart, StepPath, all_steps, scopes
from couler.ir.workflow import Container, Defaults, ExitHandler, Workflow
from tests.support.sample_flows import A, echo, flow, group
from tests.support.strategies import workflows


def test_models_are_frozen_and_hashable() -> None:
    step = echo("a", labels=FrozenDict(team="ml"))
    with pytest.raises(ValidationError):
        step.name = "b"  # type: ignore[misc]  # which is the point
    assert hash(step) == hash(echo("a", labels=FrozenDict(team="ml")))


@pytest.mark.parametrize("change", ["update", "setdefault", "pop", "clear", "popitem"])
def test_maps_are_frozen(change: str) -> None:
    labels = echo("a", labels={"team": "ml"}).labels
    with pytest.raises(TypeError, match="cannot be changed"):
        getattr(labels, change)({})
    with pytest.raises(TypeError, match="cannot be changed"):
        labels |= {"a": "b"}
    with pytest.raises(TypeError, match="cannot be changed"):
        del labels["team"]


def test_lists_inside_json_are_frozen_too() -> None:
    given_list = [1, {"a": [2]}]
    literal = Literal(value=given_list)
    given_list.append(3)
    assert literal.value == (1, FrozenDict(a=(2,)))
    assert hash(literal) == hash(Literal(value=[1, {"a": [2]}]))


def test_unknown_fields_and_wrong_types_are_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Container(image="x", comand=("y",))  # type: ignore[call-arg]  # which is the point
    with pytest.raises(ValidationError, match="valid tuple"):
        Container(image="x", args=["y"])  # type: ignore[arg-type]  # which is the point
    with pytest.raises(ValidationError, match="valid integer"):
        Retry(limit="3")  # type: ignore[arg-type]  # which is the point


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=8)
@given(workflows())
def test_workflows_can_be_sent_to_other_processes(workflow: Workflow) -> None:
    assert pickle.loads(pickle.dumps(workflow)) == workflow


def test_values_are_walked_outermost_first() -> None:
    inner = OrElse(value=A, default=RoundRef(initial=ParamRef(name="p")))
    value = Template(parts=("x", FirstOf(options=(Field(of=inner, path=("k",)), Literal(value=1)))))
    kinds = [found.kind for found in walk(value)]
    assert kinds == [
        "template",
        "first_of",
        "field",
        "or_else",
        "step",
        "round",
        "param",
        "literal",
    ]
    assert list(walk("text")) == list(walk(None)) == []


def test_scopes_come_outer_before_inner_and_handlers_last() -> None:
    handler = ExitHandler(name="tell", on="any", steps=(group("h", echo("c")),))
    workflow = flow(group("g", group("i", echo("a"))), echo("b"), exit_handlers=(handler,))
    found = [(scope.handler, scope.path) for scope in scopes(workflow)]
    assert found == [
        (None, ()),
        (None, ("g",)),
        (None, ("g", "i")),
        ("tell", ()),
        ("tell", ("h",)),
    ]
    assert [step.name for step in all_steps(workflow)] == ["g", "b", "i", "a", "h", "c"]


def test_defaults_are_merged_into_steps_that_do_not_say_otherwise() -> None:
    defaults = Defaults(
        retry=Retry(limit=2),
        timeout_s=60,
        resources=Resources(cpu="1"),
        env=(EnvVar(name="A", value="default"), EnvVar(name="B", value="default")),
    )
    own = echo("own", retry=Retry(limit=5), env=(EnvVar(name="B", value="own"),))
    handler = ExitHandler(name="tell", on="any", steps=(echo("mail"),))
    workflow = flow(group("g", own), exit_handlers=(handler,), defaults=defaults)
    merged = resolve_defaults(workflow)
    assert merged.defaults is None
    outer, inner, mail = all_steps(merged)
    assert (outer.retry, outer.timeout_s, outer.resources, outer.env) == (None, None, None, ())
    assert (inner.retry, inner.timeout_s) == (Retry(limit=5), 60)
    assert [(v.name, v.value) for v in inner.env] == [("A", "default"), ("B", "own")]
    assert mail.resources == Resources(cpu="1")
    assert resolve_defaults(merged) is merged


@pytest.mark.parametrize(
    "text", ["a", "train[2]/fit", "refine@1", "a[0]@3/b-c_d@12", "exit:tell/mail"]
)
def test_paths_read_back(text: str) -> None:
    assert str(StepPath.parse(text)) == text


def test_paths_are_built() -> None:
    path = StepPath((PathPart("train"),)).at_item(2) / "fit"
    assert str(path.at_round(0)) == "train[2]/fit@0"
    assert str(path.parent) == "train[2]"


@pytest.mark.parametrize("text", ["", "a//b", "a[x]", "a@", "a@1[2]", "a]"])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(ValueError, match="no path of a step"):
        StepPath.parse(text)


def test_diagnostics_as_text_and_json() -> None:
    place = SourceRef(file="flow.py", line=3)
    found = Diagnostic("CLR160", "no", step="a", source=place, severity="warning")
    assert str(found) == "flow.py:3  CLR160 warning  no"
    assert str(Diagnostic("CLR160", "no")) == "CLR160 error  no"
    assert found.to_json() == {
        "code": "CLR160",
        "severity": "warning",
        "message": "no",
        "step": "a",
        "file": "flow.py",
        "line": 3,
    }
