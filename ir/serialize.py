"""The IR as JSON and YAML, and its JSON Schema."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import typing as t
from collections.abc import Mapping

from pydantic import ValidationError

from couler.errors import SerializationError
from couler.ir.semantics.wire import encode
from couler.ir.workflow import IR_VERSION, Workflow
from couler.ir.yaml_loading import safe_loader
from couler.ir.yaml_writer import dump


def to_tree(workflow: Workflow) -> dict[str, t.Any]:
    """Return a workflow as a JSON tree, `ir_version` first, defaults left out."""
    tree = workflow.model_dump(mode="json", exclude_defaults=True)
    return {"ir_version": IR_VERSION, **tree}


def write_json(workflow: Workflow, *, indent: int | None = 2) -> str:
    """Return a workflow as JSON text; `indent=None` gives one line."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(to_tree(workflow), ensure_ascii=False, indent=indent, separators=separators)


def write_yaml(workflow: Workflow) -> str:
    """Return a workflow as YAML text that YAML 1.1, YAML 1.2 and Go read alike."""
    return dump(to_tree(workflow))


def read_json(text: str, *, file: str = "<json>") -> Workflow:
    """Read a workflow from JSON text."""
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise SerializationError(
            f"{file}:{error.lineno}: no JSON: {error.msg} at column {error.colno}"
        ) from error
    except RecursionError as error:
        raise SerializationError(
            f"{file}: its lists and objects are nested too deep for a workflow"
        ) from error
    return from_tree(tree, file=file)


def read_yaml(text: str, *, file: str = "<yaml>") -> Workflow:
    """Read a workflow from YAML text."""
    import yaml

    try:
        tree = yaml.load(text, Loader=_yaml_loader())  # a safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}" if mark is not None else file
        problem = getattr(error, "problem", None) or str(error)
        raise SerializationError(f"{place}: no YAML: {problem}") from error
    return from_tree(tree, file=file)


@functools.cache
def _yaml_loader() -> t.Any:
    class Loader(safe_loader()):  # type: ignore[misc]  # known at run time
        pass

    boolean, timestamp = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
    Loader.yaml_implicit_resolvers = {
        first: [rule for rule in rules if rule[0] not in (boolean, timestamp)]
        for first, rules in Loader.yaml_implicit_resolvers.items()
    }
    words = re.compile(r"(?:true|True|TRUE|false|False|FALSE)$")
    Loader.add_implicit_resolver(boolean, words, list("tTfF"))
    return Loader


def from_tree(tree: object, *, file: str = "<tree>") -> Workflow:
    """Read a workflow from a JSON tree."""
    if not isinstance(tree, dict):
        raise SerializationError(f"{file}: a workflow is an object, not {type(tree).__name__}")
    version = tree.get("ir_version")
    if version != IR_VERSION:
        raise SerializationError(
            f"{file}: ir_version is {version!r}; this release reads {IR_VERSION!r}"
        )
    try:
        # JSON mode reads lists as tuples; Python mode is strict about them.
        return Workflow.model_validate_json(json.dumps(tree))
    except (ValidationError, TypeError) as error:
        raise SerializationError(f"{file}: {_explain(error)}") from error


def json_schema() -> dict[str, t.Any]:
    """Return the JSON Schema of the IR (draft 2020-12)."""
    schema = Workflow.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:couler:ir:{IR_VERSION}",
        **schema,
    }


def _explain(error: ValidationError | TypeError) -> str:
    if isinstance(error, TypeError):
        return f"not a JSON tree: {error}"
    problems = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in problem["loc"]) or "workflow"
        problems.append(f"{place}: {problem['msg']}")
    return f"{len(problems)} problem(s)\n" + "\n".join(f"  {problem}" for problem in problems)


_LENGTH = 32


def run_digest(workflow: Workflow, texts: Mapping[str, str]) -> str:
    """Return a digest of a workflow and the values of its parameters."""
    defaults = {
        one.name: encode(one.default, one.type)
        for one in workflow.parameters
        if not one.required and one.config is None and one.name in texts
    }
    given = {name: text for name, text in texts.items() if defaults.get(name) != text}
    whole = {"workflow": _without_places(to_tree(workflow)), "parameters": given}
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def _without_places(tree: t.Any) -> t.Any:
    if isinstance(tree, dict):
        return {key: _without_places(one) for key, one in tree.items() if not _is_place(key, one)}
    if isinstance(tree, list | tuple):
        return [_without_places(one) for one in tree]
    return tree


def _is_place(key: str, value: t.Any) -> bool:
    """Whether an entry is a `SourceRef`; a script's source is a text, what an output is a value."""
    return key == "source" and isinstance(value, dict) and value.keys() == {"file", "line"}
