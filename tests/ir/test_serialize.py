"""The IR as JSON and YAML: what is written reads back equal, and is the same each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from couler.errors import SerializationError
from couler.ir.policies import Dependency
from couler.ir.serialize import (
    from_tree,
    json_schema,
    read_json,
    read_yaml,
    to_tree,
    write_json,
    write_yaml,
)
from couler.ir.workflow import Workflow
from tests.support.feature_samples import FEATURE_SAMPLES
from tests.support.sample_flows import echo, flow
from tests.support.strategies import workflows

SCHEMA = Path(__file__).parents[2] / "docs" / "ir-schema.json"


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=15)
@given(workflows())
def test_what_is_written_follows_the_schema_and_reads_back_equal(workflow: Workflow) -> None:
    text = write_json(workflow)
    read = read_json(text)
    assert read == workflow
    assert write_json(read) == text
    assert read_json(write_json(workflow, indent=None)) == workflow
    assert read_yaml(write_yaml(workflow)) == workflow
    VALIDATOR.validate(to_tree(workflow))


VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def test_samples_read_back_equal() -> None:
    for workflow in FEATURE_SAMPLES.values():
        assert read_json(write_json(workflow)) == workflow
        assert read_yaml(write_yaml(workflow)) == workflow
        VALIDATOR.validate(to_tree(workflow))


def test_types_of_numbers_survive() -> None:
    tree = to_tree(flow(echo("a")))
    tree["parameters"] = [{"name": "x", "type": "json", "default": [1, 1.0, True, "1", None]}]
    default = read_json(write_json(from_tree(tree))).parameters[0].default
    assert [type(item) for item in default] == [int, float, bool, str, type(None)]


@pytest.mark.slow
@pytest.mark.checkout
def test_equal_workflows_are_written_alike_in_every_process() -> None:
    program = (
        "from tests.support.feature_samples import FEATURE_SAMPLES\n"
        "from couler.ir.serialize import write_json\n"
        "print(''.join(write_json(workflow) for workflow in FEATURE_SAMPLES.values()))"
    )
    root = Path(__file__).parents[2]
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1


def test_defaults_are_left_out_and_the_version_comes_first() -> None:
    assert list(to_tree(flow(echo("a")))) == ["ir_version", "name", "steps"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "flow.json:1: no JSON"),
        ("[]", "a workflow is an object, not list"),
        ("{}", "ir_version is None; this release reads '1'"),
        ('{"ir_version": "2", "name": "w"}', "ir_version is '2'"),
        ('{"ir_version": "1"}', "name: Field required"),
        ('{"ir_version": "1", "name": "w", "stesp": []}', "stesp: Extra inputs are not permitted"),
        ('{"ir_version": "1", "name": 1, "steps": 2}', "2 problem(s)"),
    ],
)
def test_what_is_no_ir_is_refused(text: str, message: str) -> None:
    with pytest.raises(SerializationError) as caught:
        read_json(text, file="flow.json")
    assert message in str(caught.value)


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e999"])
@pytest.mark.parametrize(
    "policy", ['"timeout_s": {}', '"retry": {{"limit": 1, "backoff": {{"seconds": {}}}}}']
)
def test_what_json_has_no_number_for_is_refused(number: str, policy: str) -> None:
    action = '"action": {"kind": "suspend", "message": "x"}'
    step = f'{{"name": "a", {action}, {policy.format(number)}}}'
    with pytest.raises(SerializationError, match="finite number"):
        read_json(f'{{"ir_version": "1", "name": "w", "steps": [{step}]}}', file="flow.json")


def test_what_is_no_yaml_is_refused_with_its_line() -> None:
    with pytest.raises(SerializationError, match=r"flow\.yaml:2: no YAML"):
        read_yaml("a: b\nc: }\n", file="flow.yaml")


def test_what_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(SerializationError, match=r"^flow\.json: .* nested too deep"):
        read_json("[" * 100_000, file="flow.json")


def test_yaml_reads_words_as_version_1_2_does() -> None:
    text = """
ir_version: "1"
name: flow
labels: {yes: no, off: 2024-01-01}
steps:
  - {name: a, action: {kind: container, image: x}, daemon: true}
  - {name: b, action: {kind: container, image: x}, depends_on: [{step: a, on: failure}]}
"""
    workflow = read_yaml(text)
    assert workflow.labels == {"yes": "no", "off": "2024-01-01"}
    assert workflow.steps[0].daemon is True
    assert workflow.steps[1].depends_on == (Dependency(step="a", on="failure"),)
    assert read_yaml(write_yaml(workflow)) == workflow


@pytest.mark.checkout
@pytest.mark.golden
def test_the_published_schema_is_current(golden: Callable[[Path, str], None]) -> None:
    golden(SCHEMA, json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
