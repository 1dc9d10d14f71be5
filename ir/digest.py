"""What a run is begun with, as a short text: the same for the same workflow and values."""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Mapping

from couler.ir.semantics.wire import encode
from couler.ir.serialize import to_tree
from couler.ir.workflow import Workflow

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
