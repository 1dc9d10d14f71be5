"""What Airflow can do, for every feature of the IR."""

from __future__ import annotations

from couler.backends.base import NATIVE, Capabilities, Lowered, Support, Unsupported
from couler.ir.features import Feature

_CARRIED = Lowered("functions that the DAG file carries")
_WRAPPER = Lowered("a wrapper around the process, which hands its outputs on as an XCom")
_GATE = Lowered("a task before the step, which tells whether it may start")
_MAKER = Lowered("a task before the step, which makes the items")
_SKIP = Lowered("a function that skips the task before it starts")

_ACTIONS: dict[Feature, Support] = {
    Feature.CONTAINER: NATIVE,
    Feature.IMAGE_ENTRYPOINT: NATIVE,
    Feature.SCRIPT: NATIVE,
    Feature.GROUP: NATIVE,
}

_FLOW: dict[Feature, Support] = {
    Feature.DEPENDS_ON_FAILURE: _GATE,
    Feature.DEPENDS_ON_COMPLETION: _GATE,
    Feature.DEPENDS_ON_ANY: _GATE,
    Feature.WHEN: _SKIP,
    Feature.WHEN_ON_GROUP: Lowered("a task at the start of the group, which the inner ones obey"),
    Feature.WHEN_ON_FOREACH: _SKIP,
    Feature.FOREACH: NATIVE,
    Feature.FOREACH_OVER_OUTPUT: _MAKER,
    Feature.FOREACH_ZIP: _CARRIED,
    Feature.FOREACH_OVER_OUTPUT_IN_GROUP: _MAKER,
    Feature.FOREACH_MAX_PARALLEL: NATIVE,
    Feature.EXIT_HANDLER: Lowered(
        "a group of tasks at the end, and a last one that gives the run its state"
    ),
    Feature.EXIT_HANDLER_READS_OUTPUT: _CARRIED,
}

_VALUES: dict[Feature, Support] = {
    Feature.PARAMETER: NATIVE,
    Feature.STDOUT: _WRAPPER,
    Feature.OUTPUT_FILE_VALUE: _WRAPPER,
    Feature.OUTPUT_DEFAULT: _WRAPPER,
    Feature.FIELD: _CARRIED,
    Feature.OR_ELSE: _CARRIED,
    Feature.FIRST_OF: _CARRIED,
    Feature.TEMPLATE: _CARRIED,
    Feature.RUN_ID: NATIVE,
    Feature.RUN_LOGICAL_DATE: NATIVE,
    Feature.RUN_STATUS: _CARRIED,
}

_FILES: dict[Feature, Support] = {}

_POLICIES: dict[Feature, Support] = {
    Feature.RETRY: NATIVE,
    Feature.RETRY_BACKOFF: NATIVE,
    Feature.TIMEOUT: NATIVE,
    Feature.MAX_PARALLEL: NATIVE,
}

_PODS: dict[Feature, Support] = {
    Feature.RESOURCES: NATIVE,
    Feature.GPU: NATIVE,
    Feature.NODE_SELECTOR: NATIVE,
    Feature.TOLERATIONS: NATIVE,
    Feature.PRIORITY_CLASS: NATIVE,
    Feature.ENV: NATIVE,
    Feature.SECRET_ENV: NATIVE,
    Feature.PULL_POLICY: NATIVE,
    Feature.POD_LABELS: NATIVE,
}

_WORKFLOW: dict[Feature, Support] = {}

_TO_COME = Unsupported("the compiler does not write it yet. Run it on another engine")

CAPABILITIES: Capabilities = {
    **dict.fromkeys(Feature, _TO_COME),
    **_ACTIONS,
    **_FLOW,
    **_VALUES,
    **_FILES,
    **_POLICIES,
    **_PODS,
    **_WORKFLOW,
}
"""What Airflow does with each feature."""
