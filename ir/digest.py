"""What a run is begun with, as a short text: the same for the same workflow and values."""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Mapping

from couler.ir.serialize import to_tree
from couler.ir.wire import encode
from couler.ir.workflow import Workflow

_LENGTH = 32


def run_digest(workflow: Workflow, texts: Mapping[str, str]) -> str:
    """Return a digest of a workflow and the values of its parameters.

    Where it stands in the source has no part in it, as the same program lies elsewhere on other
    machines; nor has whether a default is given or left out.

    Parameters
    ----------
    workflow
        The workflow.
    texts
        Values of its parameters by name, as texts on the wire.

    Examples
    --------
    >>> from couler.ir.workflow import Parameter
    >>> one = Workflow(name="one", parameters=(Parameter(name="n", type="int", default=3),))
    >>> run_digest(one, {}) == run_digest(one, {"n": "3"}) != run_digest(one, {"n": "4"})
    True
    """
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
