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

Field: t.TypeAlias = tuple[str, str]
"""A definition and a field of it."""

LATER: Mapping[Field, Kept] = {
    ("ContainerNode", "restartPolicyRules"): PLAIN,
    ("HTTPArtifact", "saveStreamViaFile"): PLAIN,
    ("S3Artifact", "addressingStyle"): PLAIN,
    ("ScriptTemplate", "restartPolicyRules"): PLAIN,
    ("Template", "pendingTimeout"): PLAIN,
    ("Template", "podResources"): PLAIN,
    ("Template", "resourceClaims"): PLAIN,
    ("UserContainer", "restartPolicyRules"): PLAIN,
    ("WorkflowSpec", "executorPlugins"): Kept("ExecutorPlugin"),
    ("WorkflowSpec", "podResources"): PLAIN,
    ("WorkflowSpec", "resourceClaims"): PLAIN,
    # Definitions that are new themselves.
    ("ExecutorPlugin", "metadata"): PLAIN,
    ("ExecutorPlugin", "spec"): Kept("ExecutorPluginSpec"),
    ("ExecutorPluginSpec", "sidecar"): Kept("ExecutorPluginSidecar"),
    ("ExecutorPluginSidecar", "automountServiceAccountToken"): PLAIN,
    ("ExecutorPluginSidecar", "container"): PLAIN,
}
"""The fields that Argo 4.1 has and 4.0 has not."""

Api: t.TypeAlias = Mapping[str, Mapping[str, Kept]]


@functools.cache
def definitions(kind: str) -> Api:
    """Return the fields of each definition that the spec of a kind reaches; skip without them."""
    models = pytest.importorskip("hera.workflows.models")
    found: dict[str, dict[str, Kept]] = defaultdict(dict)
    schema = argo_schema.schema(kind)["properties"]["spec"]
    _walk(SPECS[kind], getattr(models, SPECS[kind]), schema, found)
    return found


def fields(kind: str) -> frozenset[Field]:
    """Return each definition and field that the spec of a kind reaches."""
    api = definitions(kind)
    return frozenset((name, field) for name, own in api.items() for field in own)


def emitted(manifest: Mapping[str, t.Any]) -> frozenset[Field]:
    """Return each definition and field that a manifest states."""
    kind = manifest["kind"]
    found: set[Field] = set()
    _collect(SPECS[kind], manifest["spec"], definitions(kind), found)
    return frozenset(found)


def without_later(manifest: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return a manifest without what only Argo 4.1 reads."""
    models = pytest.importorskip("hera.workflows.models")
    spec = SPECS[manifest["kind"]]
    return {**manifest, "spec": _drop_later(spec, getattr(models, spec), manifest["spec"])}


def _drop_later(name: str, model: t.Any, tree: t.Any) -> t.Any:
    if isinstance(tree, list):
        return [_drop_later(name, model, item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    known = _fields_of(model)
    kept: dict[str, t.Any] = {}
    for field, value in tree.items():
        if (name, field) in LATER:
            continue
        inner, inner_model = known.get(field, (PLAIN, None))
        if inner.definition is None:
            kept[field] = value
        elif inner.by_name:
            kept[field] = {
                key: _drop_later(inner.definition, inner_model, each) for key, each in value.items()
            }
        else:
            kept[field] = _drop_later(inner.definition, inner_model, value)
    return kept


def _collect(name: str, tree: object, api: Api, found: set[Field]) -> None:
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
            assert (name, field) in LATER, f"{name}.{field} is new: add it to LATER"
            kept, inner_model = LATER[name, field], None
        fields[field] = kept
        if kept.definition is not None:
            _walk(kept.definition, inner_model, inner, found)


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


@functools.cache
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
