"""What Argo Workflows 4 can do, for every feature of the IR."""

from __future__ import annotations

from couler.backends.base import NATIVE, Capabilities, Lowered, Unsupported
from couler.ir.features import Feature

_NATIVE = (
    Feature.CONTAINER,
    Feature.IMAGE_ENTRYPOINT,
    Feature.SCRIPT,
    Feature.JOB,
    Feature.HTTP,
    Feature.SUSPEND,
    Feature.SUSPEND_SECONDS,
    Feature.GROUP,
    Feature.DAEMON,
    Feature.FOREACH,
    Feature.FOREACH_OVER_OUTPUT,
    Feature.FOREACH_GROUP,
    Feature.FOREACH_IN_FOREACH,
    Feature.FOREACH_OVER_OUTPUT_IN_FOREACH,
    Feature.FOREACH_OVER_OUTPUT_IN_GROUP,
    Feature.FOREACH_IN_LOOP,
    Feature.PARAMETER,
    Feature.STDOUT,
    Feature.OUTPUT_FILE_VALUE,
    Feature.OUTPUT_DEFAULT,
    Feature.OUTPUT_JSON_PATH,
    Feature.TEMPLATE,
    Feature.RUN_ID,
    Feature.RUN_LOGICAL_DATE,
    Feature.RETRY,
    Feature.RETRY_BACKOFF,
    Feature.RETRY_ON_ONE_KIND,
    Feature.RETRY_GROUP,
    Feature.TIMEOUT,
    Feature.MUTEX,
    Feature.MAX_PARALLEL,
    Feature.MAX_PARALLEL_GROUP,
    Feature.RESOURCES,
    Feature.GPU,
    Feature.NODE_SELECTOR,
    Feature.TOLERATIONS,
    Feature.AFFINITY,
    Feature.PRIORITY_CLASS,
    Feature.ENV,
    Feature.SECRET_ENV,
    Feature.CONFIG_ENV,
    Feature.ENV_FROM,
    Feature.WORKING_DIR,
    Feature.PULL_POLICY,
    Feature.POD_LABELS,
    Feature.VOLUME_CLAIM,
    Feature.VOLUME_NEW_CLAIM,
    Feature.VOLUME_EMPTY,
    Feature.VOLUME_SECRET,
    Feature.VOLUME_CONFIG,
    Feature.VOLUME_HOST,
    Feature.SERVICE_ACCOUNT,
    Feature.IMAGE_PULL_SECRETS,
    Feature.POD_PLACEMENT,
    Feature.DNS,
    Feature.SECURITY_CONTEXT,
    Feature.EXIT_HANDLER,
    Feature.SCHEDULE,
    Feature.SCHEDULE_SEVERAL,
    Feature.WORKFLOW_TIMEOUT,
    Feature.KEEP,
    Feature.LABELS,
    Feature.ENGINE_OVERRIDES,
)

_LOWERED = {
    Feature.JOB_LOCAL_FORM: "the resource; the local form is left out",
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
    Feature.OUTPUT_JSON_PATH_LOCAL: "the field of the resource",
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

CAPABILITIES: Capabilities = {
    **dict.fromkeys(_NATIVE, NATIVE),
    **{feature: Lowered(by) for feature, by in _LOWERED.items()},
    **{feature: Unsupported(reason) for feature, reason in _UNSUPPORTED.items()},
}
"""Every feature, and how it is had on Argo."""
