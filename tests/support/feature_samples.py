"""A minimal workflow for each feature; every one of them is valid."""

from __future__ import annotations

import typing as t

from couler.ir.actions import ContainerSet, Plugin, TemplateCall
from couler.ir.artifacts import S3Location
from couler.ir.base import FrozenDict
from couler.ir.conditions import And, Compare, Operator
from couler.ir.features import Feature
from couler.ir.listing import ListFiles
from couler.ir.locks import DatabaseSemaphore, Mutex, Semaphore
from couler.ir.manifests import ManifestValue
from couler.ir.metrics import Counter, Gauge, Histogram, MetricLabel
from couler.ir.pods import (
    ContainerSettings,
    Device,
    DisruptionBudget,
    Dns,
    ExecutorPlugin,
    HostAlias,
    PodCleanup,
    PodContainer,
    PodSettings,
    Port,
    Resize,
    RunLabel,
    RunSettings,
    StepPod,
)
from couler.ir.policies import (
    AnyOf,
    Backoff,
    Cache,
    Dependency,
    Foreach,
    Gpu,
    Loop,
    Placement,
    Resources,
    Retry,
    Toleration,
)
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    ConfigVolume,
    CsiVolume,
    EmptyVolume,
    EnvFrom,
    EnvVar,
    EphemeralVolume,
    HostVolume,
    Mount,
    NewClaimVolume,
    NfsVolume,
    ProjectedVolume,
    SecretKey,
    SecretVolume,
    SourceVolume,
    Volume,
)
from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
)
from couler.ir.workflow import (
    Action,
    Container,
    ExitHandler,
    Group,
    Hook,
    Http,
    Input,
    Job,
    LocalForm,
    Output,
    Parameter,
    Schedule,
    Script,
    Step,
    StoredWorkflow,
    Suspend,
    Workflow,
)
from tests.support.file_samples import FILE_SAMPLES

A = StepRef(step="a")
ITEM = ItemRef()
ROUND = RoundRef()
LIST = Literal(value=(1, 2))
OVER_LIST = Foreach(over={"item": LIST})
OVER_A = Foreach(over={"item": A})
IS_X = Compare(left=A, op="==", right=Literal(value="x"))
AGAIN = Loop(condition=Compare(left=ROUND, op="!=", right=Literal(value="done")))


def echo(name: str, *values: Value, **fields: t.Any) -> Step:
    """A container that prints values."""
    action = Container(image="alpine:3", command=("echo",), args=values)
    return Step(name=name, action=action, **fields)


def group(name: str, *steps: Step, **fields: t.Any) -> Step:
    """A group; its output `result` is that of its first step."""
    if "outputs" not in fields:
        fields["outputs"] = (Output(value=StepRef(step=steps[0].name)),)
    return Step(name=name, action=Group(steps=steps), **fields)


def flow(*steps: Step, **fields: t.Any) -> Workflow:
    """A workflow of these steps."""
    return Workflow(name="sample", steps=steps, **fields)


def _reads(value: Value) -> Workflow:
    return flow(echo("a"), echo("b", value))


def _has(**fields: t.Any) -> Workflow:
    return flow(echo("a", **fields))


def _mounts(volume: Volume) -> Workflow:
    mount = Mount(volume=volume.name, path="/data")
    return flow(echo("a", mounts=(mount,)), volumes=(volume,))


def _does(action: Action, **fields: t.Any) -> Workflow:
    return flow(Step(name="a", action=action, **fields))


def _retries(**fields: t.Any) -> Workflow:
    return _has(retry=Retry(limit=2, **fields))


def _places(**fields: t.Any) -> Workflow:
    return _has(placement=Placement(**fields))


def _pods(**fields: t.Any) -> Workflow:
    return flow(echo("a"), pod=PodSettings(**fields))


def _contains(**fields: t.Any) -> Workflow:
    return _has(container=ContainerSettings(**fields))


def _runs(**fields: t.Any) -> Workflow:
    return flow(echo("a"), runs=RunSettings(**fields))


DATABASE = PodContainer(name="db", image="postgres:17", command=("postgres",))


def _own(op: Operator, value: object, fact: t.Any = "status", name: str | None = None) -> Compare:
    return Compare(left=OwnRef(fact=fact, name=name), op=op, right=Literal(value=value))


PLUGIN = ExecutorPlugin(
    name="hello",
    container=PodContainer(
        name="hello",
        image="example.org/hello:1",
        settings=ContainerSettings(ports=(Port(number=4355),)),
    ),
)
_JOB = Job(
    manifest=FrozenDict(
        apiVersion="batch/v1",
        kind="Job",
        metadata=FrozenDict(generateName="train-"),
        spec=FrozenDict(),
    ),
    success_condition="status.succeeded > 0",
)
SEMAPHORE = Semaphore(
    limit=ConfigKey(config_map="limits", key="gpus", optional=True), namespace="shared"
)
_JOB_WITH_VALUES = Job(
    manifest=FrozenDict(
        apiVersion="batch/v1",
        kind="Job",
        metadata=FrozenDict(generateName="train-"),
        spec=FrozenDict(parallelism=None, template=FrozenDict(image=None)),
    ),
    values=(
        ManifestValue(path=("spec", "parallelism"), value=ParamRef(name="n"), type="int"),
        ManifestValue(path=("spec", "template", "image"), value=A),
    ),
    local=LocalForm(action=Script(image="python:3.12-slim", source="print(1)")),
)
_FILE = Output(name="model", type="file", path="/tmp/model")

FEATURE_SAMPLES: dict[Feature, Workflow] = {
    # kinds of steps
    Feature.CONTAINER: _has(),
    Feature.IMAGE_ENTRYPOINT: _does(Container(image="hello-world")),
    Feature.SCRIPT: _does(Script(image="python:3.12-slim", source="print(1)")),
    Feature.PACKAGES: _does(
        Script(image="python:3.12-slim", source="import numpy", packages=("numpy",))
    ),
    Feature.JOB: _does(_JOB),
    Feature.JOB_VALUES: flow(
        echo("a"),
        Step(name="train", action=_JOB_WITH_VALUES),
        parameters=(Parameter(name="n", type="int", default=2),),
    ),
    Feature.JOB_LOCAL_FORM: _does(
        _JOB.model_copy(
            update={"local": LocalForm(action=Script(image="python:3.12-slim", source="print(1)"))}
        )
    ),
    Feature.JOB_FLAGS: _does(_JOB.model_copy(update={"flags": ("--validate=false",)})),
    Feature.JOB_MERGE_STRATEGY: _does(
        _JOB.model_copy(
            update={"action": "patch", "merge_strategy": "merge", "success_condition": None}
        )
    ),
    Feature.JOB_MANIFEST_FROM: flow(
        echo("a", outputs=(_FILE,)),
        Step(
            name="b",
            action=Job(manifest_from="manifest"),
            inputs=(Input(name="manifest", value=StepRef(step="a", output="model"), type="file"),),
        ),
    ),
    Feature.HTTP_BODY_BYTES: _does(
        Http(url="https://example.org/", method="POST", body_base64="AAH/")
    ),
    Feature.HTTP_SUCCESS_CONDITION: _does(
        Http(
            url="https://example.org/",
            success_condition=And(
                items=(
                    _own("<", 300, "status_code"),
                    _own("==", "done", "header", "x-state"),
                    Compare(
                        left=Field(of=OwnRef(fact="output", name="result"), path=("n", 0)),
                        op=">",
                        right=Literal(value=3),
                    ),
                )
            ),
        )
    ),
    Feature.HTTP_UNVERIFIED: _does(Http(url="https://example.org/", verify_tls=False)),
    Feature.HTTP: _does(Http(url="https://example.org/")),
    Feature.SUSPEND: _does(Suspend()),
    Feature.SUSPEND_SECONDS: _does(Suspend(seconds=1)),
    Feature.SUSPEND_OUTPUTS: flow(
        Step(
            name="a",
            action=Suspend(),
            outputs=(Output(name="rate"), Output(name="n", type="int", default=3)),
        ),
        echo("b", StepRef(step="a", output="n")),
    ),
    Feature.LIST_FILES: _does(
        ListFiles(at=S3Location(bucket="data", key="in"), pattern="**/*.csv"),
        outputs=(Output(type="list"),),
    ),
    Feature.CONTAINER_SET: _does(
        ContainerSet(
            containers=(
                PodContainer(name="fetch", image="alpine:3", command=("true",)),
                PodContainer(
                    name="main", image="alpine:3", command=("true",), depends_on=("fetch",)
                ),
            )
        )
    ),
    Feature.TEMPLATE_CALL: _does(
        TemplateCall(collection="shared", template="echo"),
        inputs=(Input(name="text", value=Literal(value="x")),),
    ),
    Feature.PLUGIN: _does(
        Plugin(name="hello", body=FrozenDict(greet=True)),
        inputs=(Input(name="who", value=Literal(value="you")),),
    ),
    Feature.GROUP: flow(group("g", echo("a"))),
    Feature.DAEMON: flow(echo("a", daemon=True), echo("b", depends_on=("a",))),
    # order
    Feature.DEPENDS_ON_FAILURE: flow(
        echo("a"), echo("b", depends_on=(Dependency(step="a", on="failure"),))
    ),
    Feature.DEPENDS_ON_COMPLETION: flow(
        echo("a"), echo("b", depends_on=(Dependency(step="a", on="completion"),))
    ),
    Feature.DEPENDS_ON_ANY: flow(
        echo("a"), echo("b"), echo("c", depends_on=(AnyOf(options=("a", "b")),))
    ),
    # conditions
    Feature.WHEN: flow(echo("a"), echo("b", when=IS_X)),
    Feature.WHEN_ON_GROUP: flow(echo("a"), group("g", echo("b"), when=IS_X)),
    Feature.WHEN_ON_FOREACH: flow(echo("a"), echo("b", ITEM, when=IS_X, foreach=OVER_LIST)),
    # iteration
    Feature.FOREACH: flow(echo("b", ITEM, foreach=OVER_LIST)),
    Feature.FOREACH_OVER_OUTPUT: flow(
        echo("a", outputs=(Output(type="list"),)), echo("b", ITEM, foreach=OVER_A)
    ),
    Feature.FOREACH_ZIP: flow(
        echo("b", ITEM, ItemRef(name="y"), foreach=Foreach(over={"item": LIST, "y": LIST}))
    ),
    Feature.FOREACH_GROUP: flow(group("g", echo("b"), foreach=OVER_LIST)),
    Feature.FOREACH_IN_FOREACH: flow(
        group("g", echo("b", ITEM, foreach=OVER_LIST), foreach=OVER_LIST, outputs=())
    ),
    Feature.FOREACH_OVER_OUTPUT_IN_FOREACH: flow(
        group(
            "g",
            echo("a", outputs=(Output(type="list"),)),
            echo("b", ITEM, foreach=OVER_A),
            foreach=OVER_LIST,
            outputs=(),
        )
    ),
    Feature.FOREACH_OVER_OUTPUT_IN_GROUP: flow(
        group(
            "g",
            echo("a", outputs=(Output(type="list"),)),
            echo("b", ITEM, foreach=OVER_A),
            outputs=(),
        )
    ),
    Feature.FOREACH_MAX_PARALLEL: flow(
        echo("b", ITEM, foreach=Foreach(over={"item": LIST}, max_parallel=1))
    ),
    Feature.FOREACH_READ_ON_COMPLETION: flow(
        echo("a", ITEM, foreach=OVER_LIST),
        echo(
            "b",
            OrElse(value=A, default=Literal(value=())),
            depends_on=(Dependency(step="a", on="completion"),),
        ),
    ),
    Feature.FOREACH_FILES: flow(
        echo("a", ITEM, foreach=OVER_LIST, outputs=(_FILE,)),
        echo(
            "b",
            inputs=(
                Input(
                    name="models",
                    value=StepRef(step="a", output="model"),
                    type="file",
                    path="models",
                    many=True,
                ),
            ),
        ),
    ),
    Feature.LOOP: flow(echo("a", loop=AGAIN)),
    Feature.LOOP_GROUP: flow(group("g", echo("a"), loop=AGAIN)),
    Feature.LOOP_CARRIED: flow(
        echo("a", RoundRef(initial=Literal(value="start")), loop=AGAIN),
    ),
    Feature.LOOP_IN_LOOP: flow(group("g", echo("a", loop=AGAIN), loop=AGAIN)),
    Feature.LOOP_IN_FOREACH: flow(group("g", echo("a", loop=AGAIN), foreach=OVER_LIST)),
    Feature.LOOP_WITH_FOREACH: flow(echo("a", ITEM, foreach=OVER_LIST, loop=AGAIN)),
    Feature.FOREACH_IN_LOOP: flow(
        group(
            "g",
            echo("b", ITEM, foreach=OVER_LIST),
            echo("a", StepRef(step="b")),
            loop=AGAIN,
            outputs=(Output(value=A),),
        )
    ),
    # values
    Feature.PARAMETER: flow(
        echo("a", ParamRef(name="p")), parameters=(Parameter(name="p", default="x"),)
    ),
    Feature.PARAMETER_CONFIG: flow(
        echo("a", ParamRef(name="p")),
        parameters=(Parameter(name="p", config=ConfigKey(config_map="site", key="region")),),
    ),
    Feature.STDOUT: _has(outputs=(Output(),)),
    Feature.OUTPUT_FILE_VALUE: _has(outputs=(Output(name="n", type="int", path="n.txt"),)),
    Feature.OUTPUT_DEFAULT: _has(outputs=(Output(name="n", type="int", path="n.txt", default=0),)),
    Feature.OUTPUT_JSON_PATH: _does(
        _JOB, outputs=(Output(name="done", json_path="{.status.succeeded}"),)
    ),
    Feature.OUTPUT_JQ: _does(_JOB, outputs=(Output(name="done", jq=".status.succeeded"),)),
    Feature.OUTPUT_JSON_PATH_LOCAL: _does(
        _JOB.model_copy(
            update={
                "local": LocalForm(
                    action=Container(image="alpine:3", command=("echo", "Complete")),
                    outputs=(Output(name="phase"),),
                )
            }
        ),
        outputs=(Output(name="phase", json_path="{.status.phase}"),),
    ),
    Feature.FILE: _has(outputs=(_FILE,)),
    Feature.DIRECTORY: _has(outputs=(Output(name="d", type="directory", path="/tmp/d"),)),
    Feature.FIELD: flow(
        echo("a", outputs=(Output(type="json"),)), echo("b", Field(of=A, path=("x", 0)))
    ),
    Feature.OR_ELSE: _reads(OrElse(value=A, default=Literal(value="none"))),
    Feature.FIRST_OF: _reads(FirstOf(options=(A, Literal(value="none")))),
    Feature.RANGE: flow(
        echo("a", ITEM, foreach=Foreach(over={"item": Range(count=Literal(value=3))}))
    ),
    Feature.TEMPLATE: _reads(Template(parts=("a is ", A))),
    Feature.RUN_ID: _reads(RunRef(field="id")),
    Feature.RUN_LOGICAL_DATE: _reads(RunRef(field="logical_date")),
    Feature.RUN_STATUS: flow(
        echo("a"),
        exit_handlers=(
            ExitHandler(name="tell", on="any", steps=(echo("b", RunRef(field="status")),)),
        ),
    ),
    Feature.WORKFLOW_OUTPUT: flow(echo("a"), outputs=(Output(value=A),)),
    # policies
    Feature.RETRY: _retries(),
    Feature.RETRY_BACKOFF: _retries(backoff=Backoff(seconds=1)),
    Feature.RETRY_ON_ONE_KIND: _retries(on=("error",)),
    Feature.RETRY_EXIT_CODES: _retries(exit_codes=(137,)),
    Feature.RETRY_GROUP: flow(group("g", echo("a"), retry=Retry(limit=2))),
    Feature.RETRY_MAX_DURATION: _retries(backoff=Backoff(seconds=1, max_duration_s=60)),
    Feature.RETRY_OTHER_NODE: _retries(other_node=True),
    Feature.RETRY_TRANSIENT: _retries(on=("transient",)),
    Feature.TIMEOUT: _has(timeout_s=60),
    Feature.TIMEOUT_GROUP: flow(group("g", echo("a"), timeout_s=60)),
    Feature.CACHE: _has(cache=Cache()),
    Feature.CACHE_MAX_AGE: _has(cache=Cache(max_age_s=60)),
    Feature.MUTEX: _has(mutex="one-at-a-time"),
    Feature.MUTEX_DATABASE: _has(locks=(Mutex(name="one-at-a-time", database=True),)),
    Feature.SEMAPHORE: _has(locks=(SEMAPHORE,)),
    Feature.SEMAPHORE_DATABASE: _has(locks=(DatabaseSemaphore(key="gpus"),)),
    Feature.LOCK_NAMESPACE: _has(locks=(Mutex(name="one-at-a-time", namespace="shared"),)),
    Feature.WORKFLOW_LOCK: flow(echo("a"), locks=(Mutex(name="one-at-a-time"), SEMAPHORE)),
    Feature.MAX_PARALLEL: flow(echo("a"), max_parallel=1),
    Feature.MAX_PARALLEL_GROUP: flow(group("g", echo("a"), max_parallel=1)),
    # pods
    Feature.RESOURCES: _has(resources=Resources(cpu="500m", memory="1Gi")),
    Feature.GPU: _has(resources=Resources(gpu=Gpu(count=1))),
    Feature.GPU_TYPE: _has(resources=Resources(gpu=Gpu(count=1, type="a100"))),
    Feature.NODE_SELECTOR: _places(node_selector=FrozenDict(disk="ssd")),
    Feature.TOLERATIONS: _places(tolerations=(Toleration(key="gpu", operator="Exists"),)),
    Feature.AFFINITY: _places(affinity=FrozenDict(nodeAffinity=FrozenDict())),
    Feature.PRIORITY_CLASS: _places(priority_class="high"),
    Feature.ENV: _has(env=(EnvVar(name="MODE", value="fast"),)),
    Feature.SECRET_ENV: _has(
        env=(EnvVar(name="TOKEN", secret=SecretKey(secret="hub", key="token")),)
    ),
    Feature.CONFIG_ENV: _has(
        env=(EnvVar(name="MODE", config=ConfigKey(config_map="settings", key="mode")),)
    ),
    Feature.ENV_FROM: _has(env_from=(EnvFrom(secret="hub"),)),
    Feature.WORKING_DIR: _has(working_dir="/srv"),
    Feature.PULL_POLICY: _has(pull_policy="Always"),
    Feature.POD_LABELS: _has(labels=FrozenDict(team="ml")),
    Feature.SIDECAR: _has(sidecars=(DATABASE,)),
    Feature.INIT_CONTAINER: _has(init_containers=(DATABASE,)),
    Feature.CONTAINER_PORTS: _contains(ports=(Port(number=8080, name="http"),)),
    Feature.CONTAINER_PROBES: _contains(
        liveness_probe=FrozenDict(exec=FrozenDict(command=("true",)))
    ),
    Feature.READINESS_PROBE: _contains(
        readiness_probe=FrozenDict(tcpSocket=FrozenDict(port=8080)),
    ),
    Feature.CONTAINER_LIFECYCLE: _contains(
        lifecycle=FrozenDict(postStart=FrozenDict(exec=FrozenDict(command=("true",))))
    ),
    Feature.CONTAINER_SECURITY_CONTEXT: _contains(security_context=FrozenDict(runAsUser=1000)),
    Feature.CONTAINER_RESTART: _contains(restart_policy="OnFailure"),
    Feature.CONTAINER_RESIZE: _contains(resize=(Resize(resource="cpu"),)),
    Feature.CONTAINER_STDIN: _contains(stdin=True),
    Feature.TERMINATION_MESSAGE: _contains(termination_message_policy="FallbackToLogsOnError"),
    Feature.VOLUME_DEVICES: flow(
        echo("a", container=ContainerSettings(devices=(Device(volume="data", path="/dev/xvda"),))),
        volumes=(ClaimVolume(name="data", claim="blocks"),),
    ),
    Feature.VOLUME_CLAIM: _mounts(ClaimVolume(name="data", claim="shared")),
    Feature.VOLUME_NEW_CLAIM: _mounts(NewClaimVolume(name="data", size="1Gi")),
    Feature.VOLUME_EMPTY: _mounts(EmptyVolume(name="data")),
    Feature.VOLUME_SECRET: _mounts(SecretVolume(name="data", secret="hub")),
    Feature.VOLUME_CONFIG: _mounts(ConfigVolume(name="data", config_map="settings")),
    Feature.VOLUME_HOST: _mounts(HostVolume(name="data", path="/mnt/data")),
    Feature.VOLUME_NFS: _mounts(NfsVolume(name="data", server="files", path="/exports")),
    Feature.VOLUME_CSI: _mounts(CsiVolume(name="data", driver="secrets.example.org")),
    Feature.VOLUME_EPHEMERAL: _mounts(EphemeralVolume(name="data", size="1Gi")),
    Feature.VOLUME_PROJECTED: _mounts(
        ProjectedVolume(name="data", sources=({"serviceAccountToken": {"path": "token"}},))
    ),
    Feature.VOLUME_SOURCE: _mounts(
        SourceVolume(name="data", source=FrozenDict(image=FrozenDict(reference="data:1")))
    ),
    Feature.SERVICE_ACCOUNT: _pods(service_account="runner"),
    Feature.IMAGE_PULL_SECRETS: _pods(image_pull_secrets=("registry",)),
    Feature.POD_PLACEMENT: _pods(node_selector=FrozenDict(disk="ssd")),
    Feature.DNS: _pods(dns=Dns(policy="ClusterFirst")),
    Feature.SECURITY_CONTEXT: _pods(security_context=FrozenDict(runAsNonRoot=True)),
    Feature.HOST_ALIASES: _pods(host_aliases=(HostAlias(ip="10.0.0.1", names=("db",)),)),
    Feature.HOST_NETWORK: _pods(host_network=True),
    Feature.SCHEDULER: _pods(scheduler="volcano"),
    Feature.POD_RESOURCES: _pods(resources=Resources(cpu="2")),
    Feature.RESOURCE_CLAIMS: _pods(
        resource_claims=({"name": "gpu", "resourceClaimTemplateName": "one-gpu"},)
    ),
    Feature.POD_SPEC_PATCH: _pods(spec_patch=FrozenDict(terminationGracePeriodSeconds=5)),
    Feature.POD_TIMEOUT: _has(pod=StepPod(timeout_s=600)),
    Feature.PENDING_TIMEOUT: _has(pod=StepPod(pending_timeout_s=600)),
    Feature.DISPLAY_NAME: _has(display_name="the-first"),
    # whole workflows
    Feature.STORED_WORKFLOW: Workflow(
        name="sample",
        stored=StoredWorkflow(name="stored"),
        parameters=(Parameter(name="text", default="x"),),
    ),
    Feature.EXIT_HANDLER: flow(
        echo("a"), exit_handlers=(ExitHandler(name="tell", on="any", steps=(echo("b"),)),)
    ),
    Feature.EXIT_HANDLER_READS_OUTPUT: flow(
        echo("a"),
        exit_handlers=(
            ExitHandler(
                name="tell",
                on="any",
                steps=(echo("b", OrElse(value=A, default=Literal(value="none"))),),
            ),
        ),
    ),
    Feature.SCHEDULE: flow(echo("a"), schedule=Schedule(cron=("0 4 * * *",))),
    Feature.SCHEDULE_SEVERAL: flow(echo("a"), schedule=Schedule(cron=("0 4 * * *", "0 16 * * *"))),
    Feature.SCHEDULE_GAP: flow(echo("a"), schedule=Schedule(cron=("* * * * *",), min_gap_s=600)),
    Feature.SCHEDULE_STOP: flow(
        echo("a"),
        schedule=Schedule(cron=("0 4 * * *",), stop_after_succeeded=7, stop_after_failed=3),
    ),
    Feature.SUSPENDED: flow(echo("a"), suspended=True),
    Feature.METRIC: flow(
        echo("a"),
        echo(
            "b",
            outputs=(Output(name="n", type="int", path="n.txt"),),
            metrics=(
                Counter(
                    name="failures",
                    help="Failed steps.",
                    value=Literal(value=1),
                    labels=(
                        MetricLabel(name="model", value=A),
                        MetricLabel(name="state", value=OwnRef(fact="status")),
                    ),
                    when=_own("==", "failed"),
                ),
                Gauge(
                    name="rows",
                    help="Rows.",
                    value=OwnRef(fact="output", name="n"),
                    operation="add",
                    when=_own("==", 0, "exit_code"),
                ),
                Histogram(
                    name="seconds",
                    help="Seconds of a step.",
                    value=OwnRef(fact="duration_s"),
                    buckets=(1.0, 10.5),
                ),
            ),
        ),
    ),
    Feature.METRIC_REALTIME: _has(
        metrics=(
            Gauge(name="so_far", help="So far.", value=OwnRef(fact="duration_s"), realtime=True),
        )
    ),
    Feature.WORKFLOW_METRIC: flow(
        echo("a"),
        parameters=(Parameter(name="p", default="x"),),
        metrics=(
            Gauge(
                name="took",
                help="Seconds of a run.",
                value=OwnRef(fact="duration_s"),
                labels=(
                    MetricLabel(name="p", value=ParamRef(name="p")),
                    MetricLabel(name="state", value=OwnRef(fact="status")),
                ),
                when=_own("==", "succeeded"),
            ),
        ),
    ),
    Feature.HOOK: flow(
        echo("a", hooks=(Hook(when=_own("==", "running"), step=echo("tell", ParamRef(name="p"))),)),
        parameters=(Parameter(name="p", default="x"),),
    ),
    Feature.WORKFLOW_HOOK: flow(
        echo("a"),
        hooks=(
            Hook(when=_own("==", "failed"), step=echo("tell")),
            Hook(when=_own("!=", "pending"), step=echo("exit")),
        ),
    ),
    Feature.WORKFLOW_TIMEOUT: flow(echo("a"), timeout_s=3600),
    Feature.KEEP: flow(echo("a"), keep_s=3600),
    Feature.RUN_PRIORITY: _runs(priority=5),
    Feature.RUN_LABELS: _runs(labels=(RunLabel(name="team", value="ml"),)),
    Feature.DISRUPTION_BUDGET: _runs(disruption_budget=DisruptionBudget(min_available="50%")),
    Feature.POD_CLEANUP: _runs(pod_cleanup=PodCleanup(when="pod_success")),
    Feature.CLAIM_CLEANUP: _runs(claim_cleanup="run_completion"),
    Feature.EXECUTOR_PLUGIN: _runs(plugins=(PLUGIN,)),
    Feature.LABELS: flow(echo("a"), labels=FrozenDict(team="ml")),
    # files outside of the workflow
    Feature.FILE_IN: FILE_SAMPLES["file-from-s3-key"],
    Feature.FILE_OUT: FILE_SAMPLES["file-to-s3"],
    Feature.FILE_S3: FILE_SAMPLES["file-from-s3"],
    Feature.FILE_OSS: FILE_SAMPLES["file-from-oss"],
    Feature.FILE_GCS: FILE_SAMPLES["file-from-gcs"],
    Feature.FILE_HDFS: FILE_SAMPLES["file-from-hdfs"],
    Feature.FILE_GIT: FILE_SAMPLES["directory-from-git"],
    Feature.FILE_AZURE: FILE_SAMPLES["file-from-azure"],
    Feature.FILE_HTTP: FILE_SAMPLES["file-from-http"],
    Feature.FILE_ARTIFACTORY: FILE_SAMPLES["file-from-artifactory"],
    Feature.FILE_RAW: FILE_SAMPLES["file-from-raw"],
    Feature.FILE_PLUGIN: FILE_SAMPLES["file-from-plugin"],
    Feature.FILE_ARCHIVE: FILE_SAMPLES["file-to-gcs"],
    Feature.FILE_OPTIONAL: FILE_SAMPLES["file-with-settings"],
    Feature.FILE_MODE: FILE_SAMPLES["file-with-settings"],
    Feature.FILE_REMOVAL: FILE_SAMPLES["file-to-azure"],
    Feature.FILE_OSS_BUCKET: FILE_SAMPLES["file-from-oss"],
    Feature.FILE_HDFS_KERBEROS: FILE_SAMPLES["file-from-hdfs"],
    Feature.FILE_REPOSITORY: FILE_SAMPLES["file-of-a-workflow-with-settings"],
    Feature.KEEP_LOGS: FILE_SAMPLES["log-kept"],
    Feature.LOG_LOCATION: FILE_SAMPLES["log-to-s3"],
    Feature.ENGINE_OVERRIDES: _has(
        engine=FrozenDict(argo=FrozenDict(template=FrozenDict(hostAliases=())))
    ),
}
