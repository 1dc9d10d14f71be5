"""DAG files say what a reviewer has to know, and no more."""

from __future__ import annotations

import pytest

from couler.backends.airflow.dag import dag_file
from couler.backends.airflow.options import options
from couler.backends.base import Target
from couler.ir.conditions import Compare
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Foreach
from couler.ir.values import ItemRef, Literal, ParamRef, StepRef, Text, Value
from couler.ir.wire import ValueType
from couler.ir.workflow import Container, Output, Parameter, Script, Step, Workflow


def own_part(*steps: Step, **parameters: object) -> str:
    """Return what of a DAG file is of its workflow."""
    given = tuple(
        Parameter(name=name, type=_type(value), default=value) for name, value in parameters.items()
    )
    workflow = Workflow(name="sample", parameters=given, steps=steps)
    text = dag_file(resolve_defaults(workflow), options(Target()))
    return text.partition("# Above: ")[2] or text


def _type(value: object) -> ValueType:
    types: dict[type, ValueType] = {str: "str", int: "int", float: "float", bool: "bool"}
    return types[type(value)]


def echo(name: str, *words: Text, **fields: object) -> Step:
    action = Container(image="a", command=("echo", *words))
    return Step.model_validate({"name": name, "action": action, **fields})


def test_texts_of_several_lines_stand_before_the_dag() -> None:
    script = "set -e\nmake all\nmake check\n"
    text = own_part(echo("build", "-c", script), echo("again", "-c", script), echo("short", "a\nb"))
    assert f'BUILD = """\\\n{script}"""\n' in text
    assert text.count("literal(BUILD)") == 2
    assert '"a\\nb"' in text


def test_texts_of_several_lines_are_past_jinja_and_the_kubelet() -> None:
    text = own_part(echo("build", "first\n$(second) {{ third }}\nfourth"))
    assert "$$(second) {{ third }}" in text
    assert "literal(BUILD)" in text


def test_dollars_are_doubled_where_there_can_be_some() -> None:
    numbers = Foreach(over={"item": Literal(value=(1, 2))})
    texts = Foreach(over={"item": Literal(value=("a", "$(b)"))})
    text = own_part(
        echo("all", ParamRef(name="text"), ParamRef(name="number"), ParamRef(name="truth")),
        echo("counts", ItemRef(name="item"), foreach=numbers, outputs=(Output(name="result"),)),
        echo("texts", ItemRef(name="item"), foreach=texts),
        text="t",
        number=1.5,
        truth=True,
    )
    doubled = [line.strip() for line in text.splitlines() if "replace(" in line]
    assert '{{ params["text"] | replace("$", "$$") }}' in text
    assert '{{ params["number"] }}' in text
    assert '{{ text(params["truth"]) }}' in text
    assert '{{ COUNTS_ITEMS[ti.map_index]["item"] }}' in text
    assert '{{ TEXTS_ITEMS[ti.map_index]["item"] | replace("$", "$$") }}' in text
    assert len(doubled) == 2


@pytest.mark.parametrize(
    ("left", "op", "right", "code"),
    [
        (ParamRef(name="n"), ">=", 3, 'int(params["n"]) >= 3'),
        (ParamRef(name="x"), "<", 0.5, 'float(params["x"]) < 0.5'),
        (ParamRef(name="s"), "!=", "a", 'params["s"] != "a"'),
        (ParamRef(name="b"), "==", True, 'params["b"] in (True, "true")'),
        (ParamRef(name="b"), "!=", True, 'params["b"] in (False, "false")'),
        (ParamRef(name="s"), "<", "a", 'compare(params["s"], "<", "a")'),
        (ParamRef(name="s"), "==", 1, 'compare(params["s"], "==", 1)'),
        (StepRef(step="first", output="n"), ">", 1, 'decoded(output(ti, "first", "n"), "int") > 1'),
    ],
)
def test_conditions(left: Value, op: str, right: object, code: str) -> None:
    """Signs of Python stand where they mean the same: `test_reading` tells whether they do."""
    condition = Compare.model_validate({"left": left, "op": op, "right": Literal(value=right)})
    first = echo("first", outputs=(Output(name="n", type="int", path="n"),))
    text = own_part(first, echo("then", when=condition), n=1, x=1.5, s="s", b=True)
    assert f"    return {code}\n" in text


def test_gates_are_named_after_what_they_gate() -> None:
    on_end = {"step": "first", "on": "completion"}
    text = own_part(echo("first"), echo("clean", depends_on=(on_end,)))
    assert 'pre_execute=run_within("clean-needs")' in text
    assert "None" not in text.partition("with DAG(")[2].replace("schedule=None", "")


def test_what_several_steps_have_stands_there_once() -> None:
    large = {"cpu": "1", "memory": "1Gi", "disk": "1Gi"}
    script = Script(image="a", command=("python",), source="1", packages=("numpy",))
    one = Step.model_validate({"name": "one", "action": script, "resources": large})
    two, other = one.model_copy(update={"name": "two"}), echo("other", resources={"cpu": "1"})
    text = own_part(one, two, other, n=1, m=2, x=0.5)
    assert text.count("container_resources=RESOURCES,") == 2
    assert text.count("k8s.V1ResourceRequirements(") == 2
    assert text.count('**process(with_packages(["numpy"], ["python"]))') == 2
    assert text.count("Param(1, **INTEGER)") == text.count("Param(2, **INTEGER)") == 1
    assert text.count("INTEGER = {") == 1
    assert "**NUMBER" not in text


def test_what_jinja_would_render_is_not_shared() -> None:
    """Airflow renders objects in their place, a shared one twice."""
    tolerated = ({"key": "a" * 60, "value": "{{ b }}"},)
    steps = [echo(name, placement={"tolerations": tolerated}) for name in ("one", "two")]
    assert "TOLERATIONS" not in own_part(*steps)
