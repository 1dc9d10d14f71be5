"""Values and conditions as DAG files read them mean what they mean on this machine."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass

import jinja2
import pytest
from hypothesis import assume, given, strategies as st

from couler.backends.airflow import runtime
from couler.backends.airflow.module import FUNCTIONS, in_jinja
from couler.backends.airflow.parameters import param
from couler.backends.airflow.reading import Scope
from couler.backends.local.parameters import bind_parameters
from couler.errors import MissingOutputError
from couler.ir.semantics.values import (
    VALUE_ERRORS,
    RunFacts,
    Single,
    View,
    as_type,
    holds,
    resolve,
    to_text,
)
from couler.ir.semantics.wire import encode, matches
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Field,
    FirstOf,
    Literal,
    Not,
    Operator,
    Or,
    OrElse,
    ParamRef,
    RunRef,
    StepRef,
    Template,
    Value,
    ValueType,
)
from couler.ir.workflow import Container, Output, Parameter, Step
from tests.backends.airflow.test_runtime import JSON, RefusedError

TYPES: list[ValueType] = ["str", "int", "float", "bool", "list", "dict", "json"]
_OF_TYPE: dict[str, st.SearchStrategy[t.Any]] = {
    "str": st.sampled_from(["", "1", "true", "a b", '"q"', "[1]", '{"a": 2}']),
    "int": st.integers(-2, 2),
    "float": st.sampled_from([0.5, 1.0, -2.0]),
    "bool": st.booleans(),
    "list": st.lists(st.sampled_from([1, "a", None, [2]]), max_size=2),
    "dict": st.dictionaries(st.sampled_from("ab"), st.sampled_from([1, "a", [2]]), max_size=2),
    "json": JSON,
}


@dataclass
class Given:
    """What a run was given, and what its steps gave."""

    parameters: tuple[Parameter, ...]
    conf: dict[str, t.Any]
    steps: dict[str, Step]
    outputs: dict[str, dict[str, Single] | None]

    @property
    def view(self) -> View:
        """What a step can read on this machine."""
        given = {name: outputs for name, outputs in self.outputs.items() if outputs is not None}
        bound = bind_parameters(self.parameters, self.conf)
        return View(RunFacts("run-1", "2026-01-01T00:00:00+00:00"), bound, given)

    @property
    def scope(self) -> Scope:
        """The same under Airflow."""
        return Scope(self.steps, params={one.name: param(one) for one in self.parameters})

    def evaluate(self, code: str) -> t.Any:
        """Evaluate an expression as a DAG file does."""
        return eval(code, {**FUNCTIONS, "ti": self, "params": self.conf})

    run_id = "run-1"

    def xcom_pull(self, task_ids: str) -> t.Any:
        """Return what a task has handed on."""
        outputs = self.outputs[task_ids]
        return outputs and {name: one.text for name, one in outputs.items()}

    def evaluate_template(self, code: str) -> t.Any:
        """Evaluate an expression as a template does."""
        names = {**FUNCTIONS, "ti": self, "params": self.conf}
        return jinja2.Environment().compile_expression(in_jinja(code), False)(**names)


@st.composite
def givens(draw: st.DrawFn) -> Given:
    """A run with a parameter of each type, and steps of which some were skipped."""
    parameters = tuple(Parameter(name=one, type=one, required=True) for one in TYPES)
    conf = {one: draw(_OF_TYPE[one]) for one in TYPES}
    conf["json"] = draw(
        JSON.filter(lambda value: not isinstance(value, str) and "\\u0000" not in json.dumps(value))
    )
    steps, outputs = {}, {}
    for name in ("one", "two"):
        kind = draw(st.sampled_from(TYPES))
        good = encode(draw(_OF_TYPE[kind]), kind)
        written = [one for one in WRITTEN if kind == "str" or matches(json.loads(one), kind)]
        text = draw(st.sampled_from([good, good, "many", "[1", *written]))
        action = Container(image="busybox")
        steps[name] = Step(name=name, action=action, outputs=(Output(type=kind),))
        outputs[name] = draw(st.none() | st.just({"result": Single(text, kind)}))
    return Given(parameters, conf, steps, outputs)


_LEAVES = st.one_of(
    JSON.map(lambda value: Literal(value=value)),
    st.sampled_from(TYPES).map(lambda name: ParamRef(name=name)),
    st.sampled_from(["one", "two"]).map(lambda name: StepRef(step=name)),
    st.just(RunRef(field="id")),
)


def _more(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    paths = st.lists(st.sampled_from(["a", "b", 0, 1]), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        st.builds(Field, of=inner, path=paths),
        st.builds(OrElse, value=inner, default=inner),
        st.builds(FirstOf, options=st.lists(inner, min_size=1, max_size=2).map(tuple)),
        st.builds(Template, parts=st.lists(st.text(max_size=2) | inner, max_size=3).map(tuple)),
    )


VALUES: st.SearchStrategy[Value] = st.recursive(_LEAVES, _more, max_leaves=4)
SIGNS: list[Operator] = ["==", "!=", "<", "<=", ">", ">="]
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    st.builds(Compare, left=VALUES, op=st.sampled_from(SIGNS), right=VALUES),
    lambda inner: st.one_of(
        st.builds(And, items=st.lists(inner, max_size=2).map(tuple)),
        st.builds(Or, items=st.lists(inner, max_size=2).map(tuple)),
        st.builds(Not, item=inner),
    ),
    max_leaves=3,
)

REFUSED = "refused"
WRITTEN = (
    ' {"a" : [ 1.10, 1e3 ],\n"b": "\\u00fc"} ',
    '[9007199254740993, {"b": "{\\"a\\": 1.0}", "a": -0}]',
    '"[1.0, \\"]\\"]"',
    " 42\n\n",
)
"""What processes write: not as compact JSON has it."""


@pytest.fixture(autouse=True, scope="module")
def _names_of_airflow() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "AirflowFailException", RefusedError, raising=False)
        yield


def by_rule(call: t.Callable[[], t.Any]) -> t.Any:
    """What a call gives on this machine; None for what is not there."""
    try:
        return call()
    except MissingOutputError:
        return None
    except VALUE_ERRORS:
        return REFUSED


def by_file(call: t.Callable[[], t.Any]) -> t.Any:
    """What a call gives under Airflow."""
    try:
        return call()
    except (RefusedError, *VALUE_ERRORS):
        return REFUSED


@given(givens(), VALUES)
def test_values_for_readers_of_text(run: Given, value: Value) -> None:
    expected = by_rule(lambda: to_text(resolve(value, run.view)))
    code = run.scope.read(value).to("str").code
    assert by_file(lambda: run.evaluate(code)) == expected
    assert by_file(lambda: run.evaluate_template(code)) == expected


@given(givens(), VALUES)
def test_values_for_readers_of_json(run: Given, value: Value) -> None:
    expected = by_rule(lambda: as_type(resolve(value, run.view), "json").text)
    found = by_file(lambda: run.evaluate(run.scope.read(value).to("json").code))
    assert found == expected


@given(givens(), CONDITIONS)
def test_conditions(run: Given, condition: Condition) -> None:
    expected = by_rule(lambda: holds(condition, run.view))
    assume(expected is not None)
    assert by_file(lambda: run.evaluate(run.scope.condition(condition))) == expected
