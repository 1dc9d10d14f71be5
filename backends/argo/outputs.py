"""Outputs of steps as Argo's nodes have them: text on the wire, with the declared type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from couler.backends.argo.kept import COPY
from couler.backends.argo.lower import writes_gather_files
from couler.backends.argo.scope import find_output, is_stdout
from couler.backends.argo.status_nodes import Node
from couler.backends.remote import Json
from couler.errors import WireError
from couler.ir.manifests import thawed
from couler.ir.wire import decode, dump_json, is_file
from couler.ir.workflow import Group, Output, Step, Workflow


def own_outputs(step: Step, node: Node, *, gathered: bool) -> dict[str, Json]:
    """Return the outputs of an instance of a step, as `Observed` has them."""
    gathered = gathered and (isinstance(step.action, Group) or writes_gather_files(step))
    found: dict[str, Json] = {}
    for name, text in node.parameters.items():
        output = find_output(step, name)
        found[name] = _single(_ungathered(text) if gathered else text, output)
    for name, where in node.artifacts.items():
        if any(output.name == name and is_file(output.type) for output in step.outputs):
            found[name] = _single(where, find_output(step, name))
    result = find_output(step, "result")
    if node.result is not None and is_stdout(step, result):
        found["result"] = _single(node.result, result)
    # A copy stands for the output that it is one of.
    return {
        name.removeprefix(COPY): value
        for name, value in sorted(found.items(), key=lambda entry: entry[0].startswith(COPY))
    }


def gather(items: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the outputs of a foreach: of each a list, with None for items that lack it."""
    names = dict.fromkeys(name for item in items for name in item)
    return {name: [item.get(name) for item in items] for name in names}


def run_outputs(workflow: Workflow, root: Node) -> dict[str, Json]:
    """Return the outputs of a run that succeeded, as JSON values."""
    texts = root.parameters
    return {
        output.name: decoded(texts[output.name], output)
        for output in workflow.outputs
        if output.name in texts
    }


def decoded(text: str, output: Output) -> Json:
    """Return the value of an output; the text itself where it is none of the declared type."""
    try:
        return thawed(decode(text, "str" if is_file(output.type) else output.type))
    except WireError:
        return text


def _single(text: str, output: Output) -> Json:
    return {"text": text, "type": output.type}


def _ungathered(text: str) -> str:
    """Return the text on the wire of what was written for Argo to gather: JSON in a JSON text."""
    value = json.loads(json.loads(text))
    return value if isinstance(value, str) else dump_json(value)
