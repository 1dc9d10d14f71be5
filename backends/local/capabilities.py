"""What the local engine can do, feature by feature: with processes, and with containers."""

from __future__ import annotations

from couler.backends.base import NATIVE, Capabilities, Ignored, Lowered, Support, Unsupported
from couler.ir.features import Feature

_PROCESS = Lowered("a process of this machine; the image is not used")
_NO_POD = Ignored("there is no pod, and the process runs as you do")
_ONE_MACHINE = Ignored("this machine is the only one")
_NO_LABELS = Ignored("nothing here could be found by them")
_NO_EVICTION = Ignored("nothing here takes the place of a process")
_NO_PODS_LEFT = Ignored("there are no pods that could be left")
_NO_VOLUMES = Unsupported(
    "this machine has no such volumes. Pass files between steps as File or Directory, or mount a "
    "folder of the machine"
)
_NO_CLUSTER = Unsupported(
    "there is no cluster on this machine to create the resource in. Give the job a local form"
)
_NO_RESOURCE = Unsupported(
    "it is a field of a resource, and there is no cluster on this machine. Let the local form "
    "of the job give the output"
)
_NO_METRICS = Ignored("nothing here collects them")
_NO_IMAGE = Ignored("no image is pulled")
_NO_SCHEDULE = Ignored("the workflow runs once, at once")
_ALL_LOGS = Ignored("all logs stay in the folder of the run")
_ONE_RUN = Ignored("all steps are of one run")
_LOCAL_FORM = Lowered("the local form of the job, as a step of its own")

_SPECIAL: dict[Feature, Support] = {
    Feature.CONTAINER: _PROCESS,
    Feature.SCRIPT: _PROCESS,
    Feature.IMAGE_ENTRYPOINT: Unsupported(
        "the image is not used here, so its entry point is not known. Give the command"
    ),
    Feature.PACKAGES: Lowered(
        "checking at the start that they are installed; versions are not compared"
    ),
    Feature.CODE_FILES: NATIVE,
    Feature.JOB: _NO_CLUSTER,
    Feature.JOB_LOCAL_FORM: _LOCAL_FORM,
    Feature.JOB_VALUES: _LOCAL_FORM,
    Feature.OUTPUT_JSON_PATH: _NO_RESOURCE,
    Feature.OUTPUT_JSON_PATH_LOCAL: _LOCAL_FORM,
    Feature.DAEMON: Unsupported(
        "a daemon would have to be ended with the steps that need it. Start what it gives inside "
        "of the step, or run it beside the workflow"
    ),
    Feature.MUTEX: Lowered("a lock of this machine, which all runs of its user share"),
    Feature.RETRY_OTHER_NODE: _ONE_MACHINE,
    Feature.RETRY_TRANSIENT: Unsupported(
        "errors of this machine are not told apart. Retry on error"
    ),
    Feature.JOB_FLAGS: _NO_CLUSTER,
    Feature.JOB_MERGE_STRATEGY: _NO_CLUSTER,
    Feature.JOB_MANIFEST_FROM: _NO_CLUSTER,
    Feature.OUTPUT_JQ: _NO_RESOURCE,
    Feature.CONTAINER_SET: Unsupported(
        "there are no pods here whose containers share a folder. Run each in a step of its own, "
        "and pass files between them"
    ),
    Feature.STORED_WORKFLOW: Unsupported(
        "workflows that a cluster keeps are not known here. Run the program that it was made from"
    ),
    Feature.TEMPLATE_CALL: Unsupported(
        "there are no templates of a cluster here. Write what the template does as steps"
    ),
    Feature.PLUGIN: Unsupported(
        "there are no plugins of a cluster here. Do it in a container or a script"
    ),
    Feature.METRIC: _NO_METRICS,
    Feature.METRIC_REALTIME: _NO_METRICS,
    Feature.WORKFLOW_METRIC: _NO_METRICS,
    Feature.HOOK: Unsupported(
        "nothing runs beside a step here. Let a step depend on the failure or completion of the "
        "other one"
    ),
    Feature.WORKFLOW_HOOK: Unsupported(
        "nothing runs beside the steps here. Use an exit handler for what is to run at the end"
    ),
    Feature.SUSPENDED: Unsupported(
        "a run of this machine begins when it is started. Begin with couler.suspend()"
    ),
    Feature.SCHEDULE_GAP: _NO_SCHEDULE,
    Feature.SCHEDULE_STOP: _NO_SCHEDULE,
    Feature.MUTEX_DATABASE: Lowered("a lock of this machine, which all runs of its user share"),
    Feature.SEMAPHORE: Lowered(
        "locks of this machine, as many as the entry of the config map says"
    ),
    Feature.SEMAPHORE_DATABASE: Unsupported(
        "its size is in a database of a cluster's engine. Give the size by a config map"
    ),
    Feature.LOCK_NAMESPACE: Lowered("a part of the name of the lock"),
    Feature.WORKFLOW_LOCK: Lowered("a lock that the run waits for before its first step"),
    Feature.RESOURCES: Lowered("keeping it free for the step; what takes more is not stopped"),
    Feature.GPU: Lowered("devices of the step's own, told by CUDA_VISIBLE_DEVICES"),
    Feature.GPU_TYPE: Ignored("devices are not told apart by type"),
    Feature.NODE_SELECTOR: _ONE_MACHINE,
    Feature.TOLERATIONS: _ONE_MACHINE,
    Feature.AFFINITY: _ONE_MACHINE,
    Feature.PRIORITY_CLASS: _ONE_MACHINE,
    Feature.STEP_PRIORITY: NATIVE,
    Feature.POD_PLACEMENT: _ONE_MACHINE,
    Feature.SECRET_ENV: Lowered(
        "variables COULER_SECRET_<secret>_<key> or files of COULER_SECRETS_DIR"
    ),
    Feature.CONFIG_ENV: Lowered(
        "variables COULER_CONFIG_<name>_<key> or files of COULER_CONFIGS_DIR"
    ),
    Feature.PARAMETER_CONFIG: Lowered(
        "variables COULER_CONFIG_<name>_<key> or files of COULER_CONFIGS_DIR"
    ),
    Feature.ENV_FROM: Lowered("the variables and files of the secret or config map"),
    Feature.PULL_POLICY: _NO_IMAGE,
    Feature.IMAGE_PULL_SECRETS: _NO_IMAGE,
    Feature.POD_LABELS: _NO_LABELS,
    Feature.LABELS: _NO_LABELS,
    Feature.VOLUME_CLAIM: _NO_VOLUMES,
    Feature.VOLUME_NEW_CLAIM: _NO_VOLUMES,
    Feature.VOLUME_EMPTY: Lowered("a folder of the attempt; its size is not bounded"),
    Feature.VOLUME_NFS: _NO_VOLUMES,
    Feature.VOLUME_CSI: _NO_VOLUMES,
    Feature.VOLUME_EPHEMERAL: Lowered("a folder of the attempt; its size is not bounded"),
    Feature.VOLUME_PROJECTED: _NO_VOLUMES,
    Feature.VOLUME_SOURCE: _NO_VOLUMES,
    Feature.VOLUME_DEVICES: _NO_VOLUMES,
    Feature.VOLUME_SECRET: _NO_VOLUMES,
    Feature.VOLUME_CONFIG: _NO_VOLUMES,
    Feature.VOLUME_HOST: Lowered("the folder of this machine, by a mount namespace"),
    Feature.SERVICE_ACCOUNT: _NO_POD,
    Feature.DNS: _NO_POD,
    Feature.SECURITY_CONTEXT: _NO_POD,
    Feature.SIDECAR: Lowered(
        "a process beside that of the step; the ports that it declares are those of this machine"
    ),
    Feature.INIT_CONTAINER: Lowered("a process before that of the step"),
    Feature.CONTAINER_PORTS: Lowered(
        "ports of this machine; steps that declare one port beside sidecars take turns"
    ),
    Feature.READINESS_PROBE: Ignored("nothing here waits for it"),
    Feature.CONTAINER_PROBES: Unsupported(
        "nothing here probes a process, so one that hangs is not ended. Use timeout="
    ),
    Feature.CONTAINER_LIFECYCLE: Unsupported(
        "nothing here runs what a container calls at its start and end. Make it a part of the "
        "command"
    ),
    Feature.CONTAINER_SECURITY_CONTEXT: _NO_POD,
    Feature.CONTAINER_RESTART: Unsupported(
        "a process that ends has ended here, and is not started again in its place. Use retry="
    ),
    Feature.CONTAINER_RESIZE: Ignored("resources of a running process stay"),
    Feature.CONTAINER_STDIN: Unsupported(
        "a process has no terminal and an empty standard input here. Leave it out"
    ),
    Feature.TERMINATION_MESSAGE: Ignored("the log has what a process writes"),
    Feature.HOST_ALIASES: Unsupported(
        "names of hosts are those that this machine knows. Read addresses from parameters or "
        "variables"
    ),
    Feature.HOST_NETWORK: Lowered("the network of this machine, which processes have anyhow"),
    Feature.SCHEDULER: _ONE_MACHINE,
    Feature.POD_RESOURCES: Ignored("what a step asks for itself is kept free"),
    Feature.RESOURCE_CLAIMS: Unsupported(
        "there is no cluster that could allocate devices. Ask for gpu="
    ),
    Feature.POD_SPEC_PATCH: Unsupported("there is no pod to patch. Use the options of the step"),
    Feature.POD_TIMEOUT: Lowered("a time limit of the process, which waits for no node"),
    Feature.PENDING_TIMEOUT: Ignored("a process waits for no node"),
    Feature.EXECUTOR_PLUGIN: Ignored("no step here is done by a plugin"),
    Feature.DISPLAY_NAME: Ignored("status and logs show the names of steps"),
    Feature.RUN_PRIORITY: Ignored("every run has an engine of its own"),
    Feature.RUN_LABELS: _NO_LABELS,
    Feature.DISRUPTION_BUDGET: _NO_EVICTION,
    Feature.POD_CLEANUP: _NO_PODS_LEFT,
    Feature.CLAIM_CLEANUP: _NO_PODS_LEFT,
    Feature.SCHEDULE: _NO_SCHEDULE,
    Feature.SCHEDULE_SEVERAL: _NO_SCHEDULE,
    Feature.KEEP: Ignored("runs stay until `couler delete`"),
    Feature.FILE_HTTP: Lowered("GET and PUT of the engine itself"),
    Feature.FILE_ARTIFACTORY: Lowered("GET and PUT of the engine itself"),
    Feature.FILE_S3: Lowered("fsspec and s3fs; without a bucket, a file of the repository here"),
    Feature.FILE_OSS: Lowered("fsspec and ossfs; without a bucket, a file of the repository here"),
    Feature.FILE_GCS: Lowered("fsspec and gcsfs; without a bucket, a file of the repository here"),
    Feature.FILE_AZURE: Lowered(
        "fsspec and adlfs; without a container, a file of the repository here"
    ),
    Feature.FILE_HDFS: Lowered(
        "fsspec and pyarrow; without addresses, a file of the repository here"
    ),
    Feature.FILE_GIT: Lowered("the program git of this machine"),
    Feature.FILE_PLUGIN: Unsupported(
        "plugins are programs of a cluster. Name the location itself, such as an S3 object"
    ),
    Feature.FILE_REMOVAL: Ignored("what was put at a location stays there"),
    Feature.FILE_OSS_BUCKET: Unsupported(
        "buckets of OSS are neither made here nor given rules. Do both beforehand, and leave out "
        "create_bucket, delete_after_days and infrequent_access_after_days"
    ),
    Feature.FILE_HDFS_KERBEROS: Unsupported(
        "a workflow's own settings of Kerberos and of protected transfers cannot be used here. "
        "Log in with kinit, state them in Hadoop's configuration of this machine, and name user"
    ),
    Feature.FILE_REPOSITORY: Lowered("the store and the repository of this machine"),
    Feature.KEEP_LOGS: _ALL_LOGS,
    Feature.LOG_LOCATION: _ALL_LOGS,
    Feature.PART: _ONE_RUN,
    Feature.PART_RUN: _ONE_RUN,
    Feature.ENGINE_OVERRIDES: Ignored("they are for other engines"),
}

_NATIVE = frozenset(
    {
        Feature.HTTP,
        Feature.HTTP_BODY_BYTES,
        Feature.HTTP_SUCCESS_CONDITION,
        Feature.HTTP_UNVERIFIED,
        Feature.RETRY_MAX_DURATION,
        Feature.SUSPEND,
        Feature.SUSPEND_OUTPUTS,
        Feature.SUSPEND_SECONDS,
        Feature.LIST_FILES,
        Feature.GROUP,
        Feature.MAX_PARALLEL,
        Feature.MAX_PARALLEL_GROUP,
        Feature.CACHE,
        Feature.CACHE_MAX_AGE,
        Feature.DEPENDS_ON_FAILURE,
        Feature.DEPENDS_ON_COMPLETION,
        Feature.DEPENDS_ON_ANY,
        Feature.WHEN,
        Feature.WHEN_ON_GROUP,
        Feature.WHEN_ON_FOREACH,
        Feature.FOREACH,
        Feature.FOREACH_MAX_PARALLEL,
        Feature.FOREACH_OVER_OUTPUT,
        Feature.FOREACH_ZIP,
        Feature.FOREACH_GROUP,
        Feature.FOREACH_IN_FOREACH,
        Feature.FOREACH_OVER_OUTPUT_IN_FOREACH,
        Feature.FOREACH_OVER_OUTPUT_IN_GROUP,
        Feature.FOREACH_READ_ON_COMPLETION,
        Feature.FOREACH_FILES,
        Feature.LOOP,
        Feature.LOOP_GROUP,
        Feature.LOOP_CARRIED,
        Feature.LOOP_IN_LOOP,
        Feature.LOOP_IN_FOREACH,
        Feature.LOOP_WITH_FOREACH,
        Feature.FOREACH_IN_LOOP,
        Feature.PARAMETER,
        Feature.STDOUT,
        Feature.OUTPUT_FILE_VALUE,
        Feature.OUTPUT_DEFAULT,
        Feature.FILE,
        Feature.DIRECTORY,
        Feature.FILE_IN,
        Feature.FILE_OUT,
        Feature.FILE_RAW,
        Feature.FILE_ARCHIVE,
        Feature.FILE_OPTIONAL,
        Feature.FILE_MODE,
        Feature.FIELD,
        Feature.OR_ELSE,
        Feature.FIRST_OF,
        Feature.TEMPLATE,
        Feature.RANGE,
        Feature.RUN_ID,
        Feature.RUN_LOGICAL_DATE,
        Feature.RUN_STATUS,
        Feature.WORKFLOW_OUTPUT,
        Feature.RETRY,
        Feature.RETRY_BACKOFF,
        Feature.RETRY_ON_ONE_KIND,
        Feature.RETRY_EXIT_CODES,
        Feature.RETRY_GROUP,
        Feature.TIMEOUT,
        Feature.TIMEOUT_GROUP,
        Feature.ENV,
        Feature.WORKING_DIR,
        Feature.EXIT_HANDLER,
        Feature.EXIT_HANDLER_READS_OUTPUT,
        Feature.WORKFLOW_TIMEOUT,
    }
)

CAPABILITIES: Capabilities = {**dict.fromkeys(_NATIVE, NATIVE), **_SPECIAL}
"""Every feature, and how it is had with processes of this machine."""

IN_CONTAINERS: Capabilities = {
    **CAPABILITIES,
    Feature.CONTAINER: NATIVE,
    Feature.SCRIPT: NATIVE,
    Feature.IMAGE_ENTRYPOINT: NATIVE,
    Feature.RESOURCES: NATIVE,
    Feature.PULL_POLICY: NATIVE,
    Feature.PACKAGES: Lowered("pip install at the start of the step"),
    Feature.VOLUME_HOST: NATIVE,
    Feature.INIT_CONTAINER: NATIVE,
    Feature.SIDECAR: Unsupported(
        "containers of podman and docker have networks of their own here. Run the steps as "
        "processes, or start what they need beside the workflow"
    ),
    Feature.HOST_ALIASES: NATIVE,
    Feature.HOST_NETWORK: NATIVE,
    Feature.IMAGE_PULL_SECRETS: Ignored("the tool pulls with logins of its own"),
}
"""Every feature, and how it is had with the images, in containers of podman or docker."""
