"""Templates of the tasks that divided scopes have besides their steps; none starts a pod."""

from __future__ import annotations

from couler.backends.argo.expressions import tag
from couler.backends.argo.parts import (
    ENDS_TEMPLATE,
    FAILS_TEMPLATE,
    VERDICT_TEMPLATE,
    ends_template,
)
from couler.backends.argo.pods import Tree
from couler.backends.argo.tags import variable


def helper_templates() -> list[Tree]:
    """Return the templates of the tasks that divided scopes have besides their steps."""
    end = "inputs.parameters.end"
    is_error = f"{end} contains 'r' && !({end} contains 'a')"
    # A task that was skipped goes before the one that fails: what follows hangs below it.
    error = {
        "name": "error",
        "template": ENDS_TEMPLATE,
        "when": tag(f"{is_error} ? 'a step ended in an error' : 'false'"),
    }
    failure = {
        "name": "failure",
        "template": FAILS_TEMPLATE,
        "when": tag(f"{end} != '' && !({is_error})"),
        "arguments": {"parameters": [{"name": "when", "value": "a step failed"}]},
    }
    fails = {
        "name": "fails",
        "template": ENDS_TEMPLATE,
        "when": variable("inputs.parameters.when"),
    }
    return [
        ends_template(),
        {
            "name": VERDICT_TEMPLATE,
            "inputs": {"parameters": [{"name": "end"}]},
            "dag": {"failFast": False, "tasks": [error, failure]},
        },
        {
            "name": FAILS_TEMPLATE,
            "inputs": {"parameters": [{"name": "when"}]},
            "steps": [[fails]],
        },
    ]
