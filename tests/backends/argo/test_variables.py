"""Variables of a run in tags and expressions, renamed by parsing."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from couler.backends.argo.tags import Tagged, quote
from couler.backends.argo.variables import (
    Name,
    rename_everywhere,
    rename_in_expression,
    rename_in_tags,
)


def to_parameter(name: Name) -> Name:
    return name if name[0] == "parameters" else ("parameters", "-".join(name))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a {{workflow.name}} b", "a {{workflow.parameters.name}} b"),
        ("{{ workflow.uid }}", "{{ workflow.parameters.uid }}"),
        ("{{workflow.labels.app.io}}", "{{workflow.parameters.labels-app.io}}"),
        ("{{workflow.parameters.a.b}}", "{{workflow.parameters.a.b}}"),
        ("{{inputs.parameters.workflow.name}}", "{{inputs.parameters.workflow.name}}"),
        ("workflow.name {{item}}", "workflow.name {{item}}"),
        (
            "{{=workflow.name}}{{= 'workflow.name' }}",
            "{{=workflow.parameters.name}}{{= 'workflow.name' }}",
        ),
        ("{{=1}} {{workflow.name", "{{=1}} {{workflow.name"),
    ],
)
def test_tags(before: str, after: str) -> None:
    assert rename_in_tags(before, to_parameter) == after


@given(st.text())
def test_a_text_in_an_expression_is_never_read(text: str) -> None:
    written = quote(text)
    assert rename_in_expression(written, to_parameter) == written
    around = f"workflow.name + {written} + workflow.uid"
    expected = f"workflow.parameters.name + {written} + workflow.parameters.uid"
    assert rename_in_expression(around, to_parameter) == expected


@given(st.text(alphabet="{}=workflw.nae' \"`\\[]", max_size=40))
def test_renaming_to_itself_changes_nothing(text: str) -> None:
    assert rename_in_tags(text, lambda name: name) == text
    assert rename_in_expression(text, lambda name: name) == text


def test_texts_of_the_user_stay_and_bare_expressions_do_not() -> None:
    tree = {
        "args": ["{{workflow.name}}", Tagged("{{workflow.name}}")],
        "valueFrom": {"expression": "workflow.name"},
        "http": {"successCondition": "response.body == workflow.name", "url": "workflow.name"},
        "resource": {"successCondition": "status.workflow.name"},
        "arguments": {"parameters": [{"name": "expression", "value": "workflow.name"}]},
    }
    assert rename_everywhere(tree, to_parameter) == {
        "args": ["{{workflow.name}}", "{{workflow.parameters.name}}"],
        "valueFrom": {"expression": "workflow.parameters.name"},
        "http": {
            "successCondition": "response.body == workflow.parameters.name",
            "url": "workflow.name",
        },
        "resource": {"successCondition": "status.workflow.name"},
        "arguments": {"parameters": [{"name": "expression", "value": "workflow.name"}]},
    }
