"""What Argo Workflows 4 can do, for every feature of the IR."""

from __future__ import annotations

from couler.backends.base import NATIVE, Capabilities, Lowered, Support, Unsupported
from couler.ir.features import Feature

_LOWERED = {
    Feature.PACKAGES: "pip install before the script",
    Feature.LOOP: "a template that calls itself, bounded",
    Feature.LOOP_GROUP: "a template that calls itself, bounded",
    Feature.LOOP_CARRIED: "parameters of the template that calls itself",
    Feature.LOOP_IN_LOOP: "several rounds on a level, within 100 levels",
    Feature.LOOP_IN_FOREACH: "a template that calls itself for each item",
    Feature.LOOP_WITH_FOREACH: "a loop inside of each item",
    Feature.FOREACH_ZIP: "items that are objects",
    Feature.FOREACH_MAX_PARALLEL: "a template of its own with parallelism",
    Feature.WHEN_ON_FOREACH: "an expression in `when`",
    Feature.WHEN: "an expression in `when`",
    Feature.WHEN_ON_GROUP: "an expression in `when`",
    Feature.FIELD: "an expression",
    Feature.OR_ELSE: "an expression with ??",
    Feature.FIRST_OF: "an expression with ??",
    Feature.DEPENDS_ON_FAILURE: "depends logic",
    Feature.DEPENDS_ON_COMPLETION: "depends logic",
    Feature.DEPENDS_ON_ANY: "depends logic",
    Feature.RETRY_EXIT_CODES: "an expression on the last exit code",
    Feature.FILE: "artifacts by key",
    Feature.DIRECTORY: "artifacts by key, not archived",
    Feature.FOREACH_FILES: "artifacts by key, one an item",
    Feature.GPU_TYPE: "a node selector",
    Feature.CACHE: "memoization with a key of the step's content",
    Feature.CACHE_MAX_AGE: "memoization with a maximal age",
    Feature.EXIT_HANDLER_READS_OUTPUT: "global outputs",
    Feature.WORKFLOW_OUTPUT: "outputs of the entrypoint",
    Feature.RUN_STATUS: "an expression",
}

_UNSUPPORTED = {
    Feature.FOREACH_READ_ON_COMPLETION: (
        "Argo leaves failed items out of the gathered list, so their places are lost. "
        "Let the items succeed and return what went wrong, or run it locally"
    ),
    Feature.TIMEOUT_GROUP: (
        "Argo has no time limit for a group of steps. Set timeouts on the steps inside"
    ),
}


def capabilities() -> Capabilities:
    """Return the declaration; every feature that is not named otherwise is native."""
    return {feature: _support(feature) for feature in Feature}


def _support(feature: Feature) -> Support:
    if feature in _UNSUPPORTED:
        return Unsupported(_UNSUPPORTED[feature])
    if feature in _LOWERED:
        return Lowered(_LOWERED[feature])
    return NATIVE
