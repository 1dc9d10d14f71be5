"""What Airflow can do, for every feature of the IR."""

from __future__ import annotations

from couler.backends.base import NATIVE, Capabilities, Ignored, Lowered, Support, Unsupported
from couler.ir.features import Feature

_CARRIED = Lowered("functions that the DAG file carries")
_WRAPPER = Lowered("a wrapper around the process, which hands its outputs on as an XCom")
_GATE = Lowered("a task before the step, which tells whether it may start")
_MAKER = Lowered("a task before the step, which makes the items")
_KEPT = Lowered(
    "a wrapper around the process, and a volume that all pods share (files_claim) or a storage"
)
_OF_RUN = Lowered("a task that makes it before all steps and one that deletes it after them")
_SKIP = Lowered("a function that skips the task before it starts")

_RETRY_POLICY = Lowered("a retry policy that the DAG file carries, for Airflow 3.3")
_CACHE = Lowered(
    "a wrapper around that of the process, and entries where files are kept (files_claim, or a "
    "storage); containers and scripts alone have it"
)
_ROUNDS = Lowered("all rounds that can be, of which those after the last are skipped")
_ONE_MAPPED = Lowered("one mapped foreach along a path of groups; the others are unrolled")

_SHOWN = Lowered(
    "groups of tasks that are shown, for the workflow's own steps; all tasks are of one DAG"
)

_RESOURCE = Lowered("a sensor that creates the resource and looks after it until it has ended")
_REQUEST = Lowered("a function on the worker, by the library requests")
_NO_METRICS = Unsupported(
    "Airflow names its metrics itself, and has none of a workflow's own. Let the step tell your "
    "monitoring"
)
_NO_HOOKS = Unsupported(
    "nothing runs beside a task. Let a step depend on the failure or completion of the other one, "
    "or use an exit handler"
)

_ACTIONS: dict[Feature, Support] = {
    Feature.CONTAINER: NATIVE,
    Feature.IMAGE_ENTRYPOINT: NATIVE,
    Feature.SCRIPT: NATIVE,
    Feature.PACKAGES: Lowered("pip in the pod, before the script starts"),
    Feature.CODE_FILES: Lowered("annotations of the pods, which a volume shows as files"),
    Feature.GROUP: NATIVE,
    Feature.JOB: _RESOURCE,
    Feature.JOB_VALUES: _RESOURCE,
    Feature.JOB_MERGE_STRATEGY: _RESOURCE,
    Feature.JOB_LOCAL_FORM: Lowered("the job; its local form is left out"),
    Feature.JOB_FLAGS: Unsupported(
        "flags are those of kubectl, which the worker has not. Say it in the manifest"
    ),
    Feature.JOB_MANIFEST_FROM: Unsupported(
        "the worker does not read files of the workflow. Write the manifest into the step; it "
        "can hold values of other steps"
    ),
    Feature.OUTPUT_JSON_PATH: _RESOURCE,
    Feature.OUTPUT_JSON_PATH_LOCAL: _RESOURCE,
    Feature.OUTPUT_JQ: Unsupported("the worker has no jq. Name the field by json_path"),
    Feature.HTTP: _REQUEST,
    Feature.HTTP_BODY_BYTES: _REQUEST,
    Feature.HTTP_SUCCESS_CONDITION: _REQUEST,
    Feature.HTTP_UNVERIFIED: _REQUEST,
    Feature.SUSPEND: NATIVE,
    Feature.SUSPEND_OUTPUTS: Lowered("a form of Airflow, and a function that hands on its values"),
    Feature.SUSPEND_SECONDS: NATIVE,
    Feature.SUSPENDED: Lowered("a task before the first step, which a person lets go on"),
    Feature.CONTAINER_SET: Lowered("init containers of a pod, one after another before the last"),
    Feature.TEMPLATE_CALL: Unsupported(
        "Airflow keeps no templates of single steps. Write what the template does as steps"
    ),
    Feature.PLUGIN: Unsupported(
        "plugins are those of Argo. Do it in a container, a script or an HTTP request"
    ),
    Feature.DAEMON: Unsupported(
        "a task that goes on while others run is never done. Start what it gives inside of the "
        "step, as a sidecar, or run it beside the workflow"
    ),
    Feature.HOOK: _NO_HOOKS,
    Feature.WORKFLOW_HOOK: _NO_HOOKS,
    Feature.METRIC: _NO_METRICS,
    Feature.METRIC_REALTIME: _NO_METRICS,
    Feature.WORKFLOW_METRIC: _NO_METRICS,
    Feature.STORED_WORKFLOW: Unsupported(
        "Airflow runs a DAG that it keeps with the settings of that DAG alone. Compile the program "
        "that it was made from"
    ),
    Feature.EXECUTOR_PLUGIN: Unsupported(
        "plugins are those of Argo. Do it in a container, a script or an HTTP request"
    ),
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
    Feature.FOREACH_GROUP: Lowered("mapped groups of tasks, each with a last one for its outputs"),
    Feature.FOREACH_IN_FOREACH: _ONE_MAPPED,
    Feature.FOREACH_OVER_OUTPUT_IN_FOREACH: _ONE_MAPPED,
    Feature.FOREACH_OVER_OUTPUT_IN_GROUP: _MAKER,
    Feature.FOREACH_READ_ON_COMPLETION: _CARRIED,
    Feature.FOREACH_IN_LOOP: _ROUNDS,
    Feature.LOOP: _ROUNDS,
    Feature.LOOP_GROUP: _ROUNDS,
    Feature.LOOP_CARRIED: _CARRIED,
    Feature.LOOP_IN_LOOP: _ROUNDS,
    Feature.LOOP_IN_FOREACH: _ROUNDS,
    Feature.LOOP_WITH_FOREACH: _ROUNDS,
    Feature.FOREACH_MAX_PARALLEL: NATIVE,
    Feature.EXIT_HANDLER: Lowered(
        "a group of tasks at the end, and a last one that gives the run its state; a run that is "
        "cancelled, or too late (CLR346), starts none"
    ),
    Feature.EXIT_HANDLER_READS_OUTPUT: _CARRIED,
}

_VALUES: dict[Feature, Support] = {
    Feature.PARAMETER: NATIVE,
    Feature.PARAMETER_CONFIG: Lowered("a task at the start, which reads the entries"),
    Feature.STDOUT: _WRAPPER,
    Feature.OUTPUT_FILE_VALUE: _WRAPPER,
    Feature.OUTPUT_DEFAULT: _WRAPPER,
    Feature.FIELD: _CARRIED,
    Feature.OR_ELSE: _CARRIED,
    Feature.FIRST_OF: _CARRIED,
    Feature.RANGE: _CARRIED,
    Feature.TEMPLATE: _CARRIED,
    Feature.RUN_ID: NATIVE,
    Feature.RUN_LOGICAL_DATE: NATIVE,
    Feature.RUN_STATUS: _CARRIED,
    Feature.WORKFLOW_OUTPUT: Lowered("a task at the end, which returns them"),
}

_FILES: dict[Feature, Support] = {
    Feature.FILE: _KEPT,
    Feature.DIRECTORY: _KEPT,
    Feature.FOREACH_FILES: _KEPT,
    Feature.FILE_OPTIONAL: _KEPT,
    Feature.FILE_MODE: Lowered("a wrapper around the process, which sets it"),
    Feature.FILE_RAW: Lowered("a wrapper around the process, which writes the file"),
    **dict.fromkeys(
        (
            Feature.FILE_IN,
            Feature.FILE_OUT,
            Feature.FILE_ARCHIVE,
            Feature.FILE_S3,
            Feature.FILE_OSS,
            Feature.FILE_GCS,
            Feature.FILE_AZURE,
            Feature.FILE_HDFS,
            Feature.FILE_GIT,
            Feature.FILE_HTTP,
            Feature.FILE_ARTIFACTORY,
        ),
        Lowered("a helper beside the process, of an image with Couler (io_image)"),
    ),
    Feature.LIST_FILES: Lowered("a pod of an image with Couler (io_image), which asks the storage"),
    Feature.FILE_PLUGIN: Unsupported(
        "plugins for files are Argo's. Name the location itself, such as an S3 object"
    ),
    Feature.FILE_REMOVAL: Unsupported(
        "no task of Airflow runs when a run is deleted, and files outlive runs. Leave out the "
        "removal, and let a rule of the bucket remove old files"
    ),
    Feature.FILE_OSS_BUCKET: Unsupported(
        "buckets of OSS are neither made by a run nor given rules. Do both beforehand, and leave "
        "out create_bucket, delete_after_days and infrequent_access_after_days"
    ),
    Feature.FILE_HDFS_KERBEROS: Unsupported(
        "a workflow's own settings of Kerberos and of protected transfers cannot be used. State "
        "them in Hadoop's configuration of the helper's image, and name user"
    ),
    Feature.FILE_REPOSITORY: Unsupported(
        "config maps that describe repositories are Argo's. Name the place for files as an option "
        "of the target: files_claim, or files_store"
    ),
    Feature.KEEP_LOGS: Ignored("Airflow keeps logs where its settings say"),
    Feature.LOG_LOCATION: Unsupported(
        "Airflow keeps all logs at one place, its remote_base_log_folder. Set that, or give what "
        "the step writes as a file"
    ),
}

_POLICIES: dict[Feature, Support] = {
    Feature.RETRY: NATIVE,
    Feature.RETRY_BACKOFF: Lowered(
        "Airflow's own back-off, which rounds a wait up to whole seconds and may double it"
    ),
    Feature.RETRY_ON_ONE_KIND: _RETRY_POLICY,
    Feature.RETRY_EXIT_CODES: _RETRY_POLICY,
    Feature.RETRY_GROUP: Unsupported(
        "Airflow tries tasks again, not groups of them. Give the steps inside a retry"
    ),
    Feature.RETRY_MAX_DURATION: Unsupported(
        "Airflow counts the attempts of a task, not their time. State a limit and timeout_s"
    ),
    Feature.RETRY_OTHER_NODE: Unsupported(
        "an attempt does not know on which nodes those before it ran. Leave other_node out"
    ),
    Feature.RETRY_TRANSIENT: Lowered(
        "a retry policy that the DAG file carries, which knows reasons of pods, statuses of the "
        "API and classes of exceptions that pass, for Airflow 3.3"
    ),
    Feature.TIMEOUT: NATIVE,
    Feature.TIMEOUT_GROUP: Unsupported(
        "Airflow limits the time of tasks and of whole runs. Limit that of the steps inside"
    ),
    Feature.CACHE: _CACHE,
    Feature.CACHE_MAX_AGE: _CACHE,
    Feature.MUTEX: Lowered("a pool of one slot, which must exist: a note of the artifact names it"),
    Feature.MUTEX_DATABASE: Unsupported(
        "a pool belongs to one Airflow. Use a mutex that is not kept in a database"
    ),
    Feature.SEMAPHORE: Unsupported(
        "a pool has the slots that it was made with, whatever a config map says. Use a mutex, or "
        "max_parallel"
    ),
    Feature.SEMAPHORE_DATABASE: Unsupported(
        "a pool has the slots that it was made with, whatever a database says. Use a mutex, or "
        "max_parallel"
    ),
    Feature.LOCK_NAMESPACE: Unsupported(
        "a pool is one for all namespaces. Leave the namespace of the lock out"
    ),
    Feature.WORKFLOW_LOCK: Unsupported(
        "a pool is held by single tasks, not by a run. Give the lock to the steps that need it"
    ),
    Feature.MAX_PARALLEL: NATIVE,
    Feature.PART: _SHOWN,
    Feature.PART_RUN: _SHOWN,
    Feature.MAX_PARALLEL_GROUP: Unsupported(
        "Airflow bounds the tasks of a run and the items of a task, not the tasks of a group. "
        "State max_parallel for the workflow or for the foreach"
    ),
}

_PODS: dict[Feature, Support] = {
    Feature.RESOURCES: NATIVE,
    Feature.GPU: NATIVE,
    Feature.GPU_TYPE: Lowered("a node selector"),
    Feature.NODE_SELECTOR: NATIVE,
    Feature.TOLERATIONS: NATIVE,
    Feature.AFFINITY: NATIVE,
    Feature.PRIORITY_CLASS: NATIVE,
    Feature.STEP_PRIORITY: Lowered("the weight of its task"),
    Feature.ENV: NATIVE,
    Feature.WORKING_DIR: Lowered("a wrapper, which goes there before it starts the process"),
    Feature.SECRET_ENV: NATIVE,
    Feature.CONFIG_ENV: NATIVE,
    Feature.ENV_FROM: NATIVE,
    Feature.PULL_POLICY: NATIVE,
    Feature.POD_LABELS: NATIVE,
    Feature.CONTAINER_PORTS: NATIVE,
    Feature.CONTAINER_PROBES: NATIVE,
    Feature.READINESS_PROBE: NATIVE,
    Feature.CONTAINER_LIFECYCLE: NATIVE,
    Feature.CONTAINER_SECURITY_CONTEXT: NATIVE,
    Feature.CONTAINER_RESTART: NATIVE,
    Feature.CONTAINER_RESIZE: NATIVE,
    Feature.CONTAINER_STDIN: NATIVE,
    Feature.TERMINATION_MESSAGE: NATIVE,
    Feature.SIDECAR: Lowered(
        "a wrapper around it, which ends it with the step and sees how it ends"
    ),
    Feature.INIT_CONTAINER: NATIVE,
    Feature.VOLUME_DEVICES: NATIVE,
    Feature.VOLUME_CLAIM: NATIVE,
    Feature.VOLUME_EMPTY: NATIVE,
    Feature.VOLUME_SECRET: NATIVE,
    Feature.VOLUME_CONFIG: NATIVE,
    Feature.VOLUME_HOST: NATIVE,
    Feature.VOLUME_NFS: NATIVE,
    Feature.VOLUME_CSI: NATIVE,
    Feature.VOLUME_EPHEMERAL: NATIVE,
    Feature.VOLUME_PROJECTED: NATIVE,
    Feature.VOLUME_SOURCE: NATIVE,
    Feature.SERVICE_ACCOUNT: NATIVE,
    Feature.IMAGE_PULL_SECRETS: NATIVE,
    Feature.POD_PLACEMENT: NATIVE,
    Feature.DNS: NATIVE,
    Feature.SECURITY_CONTEXT: NATIVE,
    Feature.HOST_ALIASES: NATIVE,
    Feature.HOST_NETWORK: NATIVE,
    Feature.SCHEDULER: NATIVE,
    Feature.POD_RESOURCES: NATIVE,
    Feature.RESOURCE_CLAIMS: NATIVE,
    Feature.POD_SPEC_PATCH: Lowered("the patch is merged in when the DAG file is written"),
    Feature.POD_TIMEOUT: NATIVE,
    Feature.PENDING_TIMEOUT: NATIVE,
    Feature.POD_CLEANUP: NATIVE,
    Feature.DISPLAY_NAME: NATIVE,
    Feature.VOLUME_NEW_CLAIM: _OF_RUN,
    Feature.CLAIM_CLEANUP: _OF_RUN,
    Feature.DISRUPTION_BUDGET: _OF_RUN,
}

_WORKFLOW: dict[Feature, Support] = {
    Feature.WORKFLOW_TIMEOUT: Lowered(
        "dagrun_timeout; Airflow shows what had not ended then as skipped, and starts no exit "
        "handler (CLR346)"
    ),
    Feature.SCHEDULE: NATIVE,
    Feature.SCHEDULE_SEVERAL: NATIVE,
    Feature.SCHEDULE_GAP: Unsupported(
        "Airflow's scheduler starts a run at each time, whenever the one before was. Write the "
        "gap into the cron expression"
    ),
    Feature.SCHEDULE_STOP: Unsupported(
        "Airflow's scheduler does not count the runs that have ended. Pause the DAG when there "
        "are enough"
    ),
    Feature.KEEP: Ignored("Airflow keeps runs until `airflow db clean`"),
    Feature.RUN_PRIORITY: Lowered("the weight of all tasks"),
    Feature.RUN_LABELS: Unsupported(
        "runs of Airflow have no labels. Label the workflow, whose DAG has them as tags, or its "
        "pods"
    ),
    Feature.LABELS: Lowered("tags of the DAG; annotations are its documentation"),
    Feature.ENGINE_OVERRIDES: NATIVE,
}

CAPABILITIES: Capabilities = {
    **_ACTIONS,
    **_FLOW,
    **_VALUES,
    **_FILES,
    **_POLICIES,
    **_PODS,
    **_WORKFLOW,
}
"""What Airflow does with each feature."""
