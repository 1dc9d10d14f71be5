"""Argo's definitions and their fields: those that a WorkflowSpec and a CronWorkflowSpec reach.

The schemas that an API server enforces are those of Argo 4.1, but they write out every object in
its place, without names. Hera's models have the names, for Argo 4.0. So both are walked together:
an object of the schema at the place of a model of Hera gives the fields of that definition.
"""

from __future__ import annotations

import functools
import typing as t
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest

from tests.support import argo_schema

Schema: t.TypeAlias = Mapping[str, t.Any]

SPECS = {
    "Workflow": "WorkflowSpec",
    "WorkflowTemplate": "WorkflowSpec",
    "CronWorkflow": "CronWorkflowSpec",
}
"""The definition of `spec`, by kind."""


class Kept(t.NamedTuple):
    """What a field keeps, alone or in a list."""

    definition: str | None
    """Name of Argo's definition; None for Kubernetes' objects and for values."""
    by_name: bool = False
    """It keeps a map of them."""


PLAIN = Kept(None)

_LATER: Mapping[tuple[str, str], str] = {
    ("WorkflowSpec", "executorPlugins"): "ExecutorPlugin",
    ("ExecutorPlugin", "spec"): "ExecutorPluginSpec",
    ("ExecutorPluginSpec", "sidecar"): "ExecutorPluginSidecar",
}
"""Names of Argo's definitions that Hera does not have yet, by the field that keeps them."""

_KUBERNETES = frozenset(
    {
        ("ContainerNode", "restartPolicyRules"),
        ("ExecutorPlugin", "metadata"),
        ("ExecutorPluginSidecar", "container"),
        ("ScriptTemplate", "restartPolicyRules"),
        ("Template", "podResources"),
        ("Template", "resourceClaims"),
        ("UserContainer", "restartPolicyRules"),
        ("WorkflowSpec", "podResources"),
        ("WorkflowSpec", "resourceClaims"),
    }
)
"""Fields that Hera does not have yet and that keep objects of Kubernetes."""

Api: t.TypeAlias = Mapping[str, Mapping[str, Kept]]


@functools.cache
def definitions(kind: str) -> Api:
    """Return the fields of each definition that the spec of a kind reaches; skip without them."""
    models = pytest.importorskip("hera.workflows.models")
    found: dict[str, dict[str, Kept]] = defaultdict(dict)
    schema = argo_schema.schema(kind)["properties"]["spec"]
    _walk(SPECS[kind], getattr(models, SPECS[kind]), schema, found)
    return found


def fields(kind: str) -> frozenset[tuple[str, str]]:
    """Return each definition and field that the spec of a kind reaches."""
    api = definitions(kind)
    return frozenset((name, field) for name, own in api.items() for field in own)


def emitted(manifest: Mapping[str, t.Any]) -> frozenset[tuple[str, str]]:
    """Return each definition and field that a manifest states."""
    kind = manifest["kind"]
    found: set[tuple[str, str]] = set()
    _collect(SPECS[kind], manifest["spec"], definitions(kind), found)
    return frozenset(found)


def _collect(name: str, tree: object, api: Api, found: set[tuple[str, str]]) -> None:
    if isinstance(tree, list):  # of lists, for the groups of a steps template
        for item in tree:
            _collect(name, item, api, found)
        return
    if not isinstance(tree, dict):
        return  # an item of a list, which may be any value
    for field, value in tree.items():
        kept = api[name].get(field)
        if kept is None:
            continue  # the schema refuses it, or the definition is free of form
        found.add((name, field))
        if kept.definition is not None:
            inner = list(value.values()) if kept.by_name else value
            _collect(kept.definition, inner, api, found)


def _walk(name: str, model: t.Any, schema: Schema, found: dict[str, dict[str, Kept]]) -> None:
    """Take in a definition; `model` is Hera's, or None where Hera does not have it."""
    schema = _object(schema)
    fields = found[name]
    known = _fields_of(model)
    for field, inner in schema.get("properties", {}).items():
        if field in known:
            kept, inner_model = known[field]
        else:
            kept, inner_model = _later(name, field, inner), None
        fields[field] = kept
        if kept.definition is not None:
            _walk(kept.definition, inner_model, inner, found)


def _later(name: str, field: str, schema: Schema) -> Kept:
    """Return what a field keeps that Hera does not have."""
    if (name, field) in _LATER:
        return Kept(_LATER[name, field])
    is_object = "properties" in _object(schema)
    assert not is_object or (name, field) in _KUBERNETES, (
        f"{name}.{field} is new and keeps objects: name their definition, or say whose they are"
    )
    return PLAIN


def _object(schema: Schema) -> Schema:
    """Return the schema of what a list or a map keeps."""
    while "properties" not in schema:
        if "items" in schema:
            schema = schema["items"]
        elif isinstance(schema.get("additionalProperties"), dict):
            schema = schema["additionalProperties"]
        else:
            break
    return schema


def _fields_of(model: t.Any) -> dict[str, tuple[Kept, t.Any]]:
    if model is None:
        return {}
    return {
        field.alias or name: _kept(field.annotation) for name, field in model.model_fields.items()
    }


def _kept(annotation: t.Any) -> tuple[Kept, t.Any]:
    for model, by_name in _models(annotation):
        if ".argoproj" not in model.__module__:
            continue
        while "root" in model.model_fields:  # a list of others has no fields of its own
            inner = [each for each, _ in _models(model.model_fields["root"].annotation)]
            if not inner:
                break
            [model] = inner
        return Kept(model.__name__, by_name), model
    return PLAIN, None


def _models(annotation: t.Any, by_name: bool = False) -> Iterator[tuple[t.Any, bool]]:
    """Yield the models in an annotation, and whether a map keeps them."""
    if hasattr(annotation, "model_fields"):
        yield annotation, by_name
    for argument in t.get_args(annotation):
        yield from _models(argument, by_name or t.get_origin(annotation) is dict)
