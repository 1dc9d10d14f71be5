"""What Airflow can do, for every feature of the IR."""

from __future__ import annotations

from couler.backends.base import NATIVE, Capabilities, Lowered, Unsupported
from couler.ir.features import Feature

_NATIVE = (
    Feature.CONTAINER,
    Feature.IMAGE_ENTRYPOINT,
    Feature.SCRIPT,
    Feature.GROUP,
    Feature.PARAMETER,
    Feature.RUN_ID,
    Feature.RUN_LOGICAL_DATE,
    Feature.RETRY,
    Feature.RETRY_BACKOFF,
    Feature.TIMEOUT,
    Feature.MAX_PARALLEL,
    Feature.FOREACH,
    Feature.FOREACH_MAX_PARALLEL,
    Feature.RESOURCES,
    Feature.GPU,
    Feature.NODE_SELECTOR,
    Feature.TOLERATIONS,
    Feature.PRIORITY_CLASS,
    Feature.ENV,
    Feature.SECRET_ENV,
    Feature.PULL_POLICY,
    Feature.POD_LABELS,
)

_CARRIED = "functions that the DAG file carries"
_WRAPPER = "a wrapper around the process, which hands its outputs on as an XCom"
_GATE = Lowered("a task before the step, which tells whether it may start")
_MAKER = Lowered("a task before the step, which makes the items")

_LOWERED: dict[Feature, Lowered] = {
    Feature.DEPENDS_ON_FAILURE: _GATE,
    Feature.DEPENDS_ON_COMPLETION: _GATE,
    Feature.DEPENDS_ON_ANY: _GATE,
    Feature.WHEN: Lowered("a function that skips the task before it starts"),
    Feature.WHEN_ON_GROUP: Lowered("a task at the start of the group, which the inner ones obey"),
    Feature.WHEN_ON_FOREACH: Lowered("a function that skips the task before it starts"),
    Feature.FOREACH_OVER_OUTPUT: _MAKER,
    Feature.FOREACH_ZIP: Lowered(_CARRIED),
    Feature.FOREACH_OVER_OUTPUT_IN_GROUP: _MAKER,
    Feature.STDOUT: Lowered(_WRAPPER),
    Feature.OUTPUT_FILE_VALUE: Lowered(_WRAPPER),
    Feature.OUTPUT_DEFAULT: Lowered(_WRAPPER),
    Feature.FIELD: Lowered(_CARRIED),
    Feature.OR_ELSE: Lowered(_CARRIED),
    Feature.FIRST_OF: Lowered(_CARRIED),
    Feature.TEMPLATE: Lowered(_CARRIED),
    Feature.RUN_STATUS: Lowered(_CARRIED),
    Feature.EXIT_HANDLER: Lowered("a group of tasks at the end, and a last one that gives the run its state"),
    Feature.EXIT_HANDLER_READS_OUTPUT: Lowered(_CARRIED),
}

_UNSUPPORTED: dict[Feature, Unsupported] = {}

_TO_COME = Unsupported("the compiler does not write it yet. Run it on another engine")

CAPABILITIES: Capabilities = {
    **dict.fromkeys(Feature, _TO_COME),
    **dict.fromkeys(_NATIVE, NATIVE),
    **_LOWERED,
    **_UNSUPPORTED,
}
"""What Airflow does with each feature."""
