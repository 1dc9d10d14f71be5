"""Steps and workflows: what every front end builds and every engine runs."""

from __future__ import annotations

import re
import typing as t
from base64 import b64decode

from pydantic import Field as ModelField, NonNegativeInt, PositiveInt

from couler.ir.artifacts import Archive, FileRemoval, FileSettings, ListFiles, Location, LogSettings
from couler.ir.base import EngineMap, FrozenDict, Json, JsonMap, Node, TextMap, Variant
from couler.ir.pods import ContainerSettings, PodContainer, PodSettings, RunSettings, StepPod
from couler.ir.policies import (
    AnyOf,
    Cache,
    Dependency,
    Foreach,
    Lock,
    Loop,
    Metric,
    Part,
    Placement,
    Positive,
    Profile,
    Resources,
    Retry,
    SourceRef,
)
from couler.ir.storage import ConfigKey, EnvFrom, EnvVar, Mount, SecretKey, Volume
from couler.ir.traversal import At
from couler.ir.values import Condition, ManifestValue, Text, Value, ValueType, place_text

IR_VERSION = "1"

AUTO_IMAGE = "auto"
"""What steps name whose image is the one that `couler image` describes."""
WORK_DIR = "/tmp/couler"
"""Where `COULER_WORK` is on engines that use images; a declared path below it is a relative one."""

STDOUT = "result"
"""Name of the output that is a process's standard output, unless a file is declared for it."""


class Container(Variant):
    """Run a command in an image. Without a command the image's own entry point runs."""

    kind: t.Literal["container"] = "container"
    image: str
    command: tuple[Text, ...] = ()
    args: tuple[Text, ...] = ()


class DataType(Node):
    """A type of Python values."""

    kind: t.Literal[
        "str",
        "int",
        "float",
        "bool",
        "json",
        "file",
        "path",
        "directory",
        "list",
        "tuple",
        "dict",
        "record",
        "enum",
    ]
    name: str = ""
    """Name of the class of a record or an enumeration, in the script."""
    item: DataType | None = None
    """Type of the items of a list, of the values of a dict or of an enumeration: there None stands
    for numbers and the like, `json` for values that have another form."""
    fields: tuple[NamedType, ...] = ()
    """Fields of a record, or items of a tuple."""
    optional: bool = False
    """None fits as well."""


class NamedType(Node):
    """A parameter, a field or an output."""

    name: str
    type: DataType
    has_default: bool = False
    """It is a field that a value can lack."""


class FunctionCall(Node):
    """A call of the step's function with its inputs, whose result gives its outputs."""

    arguments: tuple[NamedType, ...] = ()
    outputs: tuple[NamedType, ...] = ()
    """The fields of a record that is returned, or the result itself."""
    is_record: bool = False
    whole: bool = False
    """The record is an output `result` besides its fields."""
    stay: bool = False
    """The function runs in the folder that the process is in."""
    file: str = ""
    """The project's file that the function is of, for tracebacks."""
    lines: tuple[tuple[int, int], ...] = ()
    """Lines of the source at which statements of the file begin, with their lines in the file."""


class Script(Variant):
    """Run a source text with an interpreter: the command's last argument is the script's file."""

    kind: t.Literal["script"] = "script"
    image: str
    source: str
    command: tuple[str, ...] = ("python",)
    packages: tuple[str, ...] = ()
    built: bool = False
    """Its image is one that was built for its packages, and has them."""
    files: tuple[str, ...] = ()
    """Paths of the workflow's code files that are importable where it runs."""
    code: str = ""
    """Digest of what its author wrote of it, its modules included; the key of a cached result has
    it in place of the source."""
    function: str | None = None
    """Name of the typed function that the source ships, where it ships one."""
    call: FunctionCall | None = None
    """How the function is called; before `with_scripts` the source has no lines for that."""

    @property
    def to_install(self) -> tuple[str, ...]:
        """The packages that its image lacks."""
        return () if self.built else self.packages

    @property
    def is_python(self) -> bool:
        """Whether its interpreter is a Python."""
        return re.fullmatch(r"(?:.*/)?python[0-9.]*", " ".join(self.command[:1])) is not None

    @property
    def runs_function(self) -> bool:
        """Whether a Python runs its function, and no other program that is given the script."""
        return self.call is not None and self.is_python and not {"-m", "-c"} & {*self.command}


class Job(Variant):
    """Create a resource of the cluster (a distributed training job) and wait for its end."""

    kind: t.Literal["job"] = "job"
    manifest: JsonMap = FrozenDict()
    """The resource; empty where `manifest_from` names it."""
    manifest_from: str | None = None
    """A file among the step's inputs that holds the resource as YAML or JSON."""
    action: t.Literal["get", "create", "apply", "replace", "patch", "delete"] = "create"
    flags: tuple[str, ...] = ()
    """Further arguments of `kubectl`."""
    merge_strategy: t.Literal["strategic", "merge", "json"] | None = None
    """How a patch is put into the resource; None for `strategic`."""
    success_condition: str | None = None
    failure_condition: str | None = None
    set_owner_reference: bool = False
    local: t.Annotated[LocalForm | None, At(scope="local")] = None
    """What runs in its place on an engine that has no cluster."""
    values: t.Annotated[
        tuple[ManifestValue, ...], At("manifest", key=lambda _, given: place_text(given.path))
    ] = ()
    """What is put into the manifest before the resource is created."""


class Http(Variant):
    """Make an HTTP request; the body of the response is the output `result`."""

    kind: t.Literal["http"] = "http"
    url: Text
    method: t.Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "GET"
    headers: tuple[EnvVar, ...] = ()
    body: Text | None = None
    body_base64: str | None = None
    """In place of `body`: bytes that need not be text."""
    success_codes: tuple[int, ...] = ()
    success_condition: t.Annotated[Condition | None, At(scope="facts")] = None
    """In place of `success_codes`: compares facts of the response, inputs and literals."""
    verify_tls: bool = True
    """Whether the certificate of the server is checked."""


class Suspend(Variant):
    """Wait for a person, or for a number of seconds.

    A person gives the values of its outputs.
    """

    kind: t.Literal["suspend"] = "suspend"
    seconds: Positive | None = None
    message: str | None = None


MAIN = "main"
"""The container of a set whose files and standard output are those of the step."""


class SetRetry(Node):
    """Run a container of a set again after it has failed, in the same pod."""

    limit: PositiveInt
    wait_s: Positive | None = None


class ContainerSet(Variant):
    """Run several containers in one pod, each when those that it depends on have ended well.

    They share the work folder and the step's mounts. Inputs, outputs and the standard output of
    the step are those of the container `main`.
    """

    kind: t.Literal["container_set"] = "container_set"
    containers: t.Annotated[tuple[PodContainer, ...], ModelField(min_length=1), At("")]
    retry: SetRetry | None = None


class TemplateCall(Variant):
    """Run a template that exists on the engine, in a collection of templates.

    The step's inputs are its arguments; its outputs are those that the template is known to give.
    """

    kind: t.Literal["template_call"] = "template_call"
    collection: str
    template: str
    cluster_wide: bool = False
    """The collection is one of all namespaces."""


class Plugin(Variant):
    """Have a plugin of the engine do something; it finds the step's inputs by their names."""

    kind: t.Literal["plugin"] = "plugin"
    name: str
    body: JsonMap
    """What the plugin is told."""


class Group(Variant):
    """A nested graph of steps; sees only the inputs of its step, shows only its outputs."""

    kind: t.Literal["group"] = "group"
    steps: t.Annotated[tuple[Step, ...], At(scope="steps")]
    transparent: bool = False
    """Made by a pass: status and logs show the inner steps at the level of the group."""


Action = t.Annotated[
    Container
    | Script
    | Job
    | Http
    | Suspend
    | ListFiles
    | ContainerSet
    | TemplateCall
    | Plugin
    | Group,
    ModelField(discriminator="kind"),
]


class Input(Node):
    """A named value that a step takes in, or a file that lies outside of the workflow.

    A process finds it in the environment as `COULER_INPUT_<name>`: the text of the value, or,
    for a file or directory, the path where it lies. The steps of a group read it by `ParamRef`.
    """

    name: str
    value: t.Annotated[Value | None, At("", "typed")] = None
    type: ValueType = "str"
    path: str | None = None
    """For files: where the process finds it; relative paths start at `COULER_WORK`."""
    many: bool = False
    """The value is the list gathered from a foreach, each of `type`."""
    at: Location | None = None
    """For files of processes: where it lies outside of the workflow, in place of a value."""
    archive: Archive | None = None
    """How the file at that location is packed; the process finds it unpacked."""
    optional: bool = False
    """For files: there need be none, and then nothing is at the path."""
    mode: t.Annotated[int, ModelField(ge=0, le=0o777)] | None = None
    """For files: permissions of the process's copy."""
    recurse_mode: bool = False
    """For directories: all that is inside has the same permissions."""


class Output(Node):
    """A named value that a step gives out.

    It is the text of a file (`path`), a field of the job's resource (`json_path` or `jq`), for a
    group any value of its steps (`value`), and otherwise the standard output less one final
    newline. A file or directory is kept as an artifact.
    """

    name: str = STDOUT
    type: ValueType = "str"
    path: str | None = None
    json_path: str | None = None
    jq: str | None = None
    """A filter of jq over the job's resource."""
    value: t.Annotated[Value | None, At(scope="inside")] = None
    default: Json | None = None
    """Taken where the process did not write the file."""
    at: Location | None = None
    """For files: where it is put besides, for those outside of the workflow."""
    archive: Archive | None = None
    """How it is packed at that location."""
    optional: bool = False
    """For files: the process need not write it."""
    removal: FileRemoval | None = None
    """For files: when what is kept of it is removed."""


class LocalForm(Node):
    """What runs in place of a job on an engine without a cluster, such as a single machine.

    It takes over the name, the order and the policies of the job's step; what a process has
    besides, it states here. Its outputs are some of those that the step declares, by the same
    names: those that it lacks cannot be read there.
    """

    action: t.Annotated[Container | Script, ModelField(discriminator="kind"), At("", is_last=True)]
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    env: tuple[EnvVar, ...] = ()
    resources: Resources | None = None
    working_dir: str | None = None


class Hook(Node):
    """A step that runs beside another, or beside the run, when that comes into a state.

    It runs once, when the condition first holds; the step that it belongs to counts as ended only
    when its hooks have.
    """

    when: t.Annotated[Condition, At(scope="facts")]
    """Compares `OwnRef(fact="status")`: running, succeeded or failed, pending before."""
    step: t.Annotated[Step, At("")]


class Step(Node):
    """One position in a graph: what to run, when, and under which policies.

    The order of meaning is fixed: `depends_on`, then `when` for the step as a whole, then
    `foreach` for each item, then `loop` for each round, then `retry` for each attempt.
    A reference to another step's output is a dependency on that step's success, unless
    `depends_on` names the step itself.
    """

    name: str
    action: t.Annotated[Action, At("", is_last=True)]
    depends_on: tuple[str | Dependency | AnyOf, ...] = ()
    program_order: tuple[str, ...] = ()
    """Names in `depends_on` that are there only since the program calls those steps before."""
    when: t.Annotated[Condition | None, At(scope="typed")] = None
    foreach: Foreach | None = None
    loop: Loop | None = None
    retry: Retry | None = None
    timeout_s: Positive | None = None
    cache: Cache | None = None
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    mounts: tuple[Mount, ...] = ()
    resources: Resources | None = None
    placement: Placement | None = None
    working_dir: str | None = None
    pull_policy: t.Literal["Always", "IfNotPresent", "Never"] | None = None
    container: ContainerSettings | None = None
    sidecars: t.Annotated[tuple[PodContainer, ...], At("")] = ()
    init_containers: t.Annotated[tuple[PodContainer, ...], At("")] = ()
    """They run one after another before the step starts."""
    pod: StepPod | None = None
    mutex: str | None = None
    """Name of a lock; short for a `Mutex` among `locks`."""
    locks: tuple[Lock, ...] = ()
    daemon: bool = False
    max_parallel: PositiveInt | None = None
    """For groups: how many of the steps inside run at the same time."""
    metrics: tuple[Metric, ...] = ()
    hooks: t.Annotated[
        tuple[Hook, ...], At(scope="hooks", key=lambda _, hook: t.cast(str, hook.step.name))
    ] = ()
    labels: TextMap = FrozenDict()
    annotations: TextMap = FrozenDict()
    display_name: str | None = None
    """What engines show in place of the name."""
    logs: LogSettings | None = None
    profile: Profile | None = None
    part: Part | None = None
    """Which part of its scope it belongs to, where that is split."""
    engine: EngineMap = FrozenDict()
    source: SourceRef | None = None
    origin: str = "user"

    @property
    def is_function(self) -> bool:
        """Whether it runs a typed function, whose outputs are of their types or which fails."""
        return isinstance(self.action, Script) and self.action.function is not None


class Parameter(Node):
    """A value that a run is started with."""

    name: str
    type: ValueType = "str"
    default: Json | None = None
    required: bool = False
    """No default: a run must give a value."""
    choices: tuple[Json, ...] = ()
    description: str | None = None
    config: ConfigKey | None = None
    """Its value is taken where a run gives none; the default is for want of the entry."""
    nullable_text: bool = False
    """Its values are texts or null, so `5` on a command line is the text and `null` is null."""


class ExitHandler(Node):
    """Steps that run when the run has ended, in parallel with the other handlers."""

    name: str
    on: t.Literal["success", "failure", "any"]
    steps: t.Annotated[tuple[Step, ...], At(scope="steps")]


class Schedule(Node):
    """When the workflow runs by itself."""

    cron: t.Annotated[tuple[str, ...], ModelField(min_length=1)]
    timezone: str = "UTC"
    concurrency: t.Literal["allow", "forbid", "replace"] = "allow"
    starting_deadline_s: NonNegativeInt | None = None
    suspended: bool = False
    keep_succeeded: NonNegativeInt | None = None
    keep_failed: NonNegativeInt | None = None
    min_gap_s: Positive | None = None
    """No run starts within so many seconds after the one before."""
    stop_after_succeeded: PositiveInt | None = None
    stop_after_failed: PositiveInt | None = None
    """No run starts any more after so many that have ended so."""


class Defaults(Node):
    """Policies for every step that does not state its own; `resolve_defaults` merges them."""

    retry: Retry | None = None
    timeout_s: Positive | None = None
    resources: Resources | None = None
    placement: Placement | None = None
    pull_policy: t.Literal["Always", "IfNotPresent", "Never"] | None = None
    env: tuple[EnvVar, ...] = ()


class CodeFile(Node):
    """A file of the project that scripts import, or that their modules read."""

    path: str
    """Where it is below the folder that is importable."""
    text: str = ""
    base64: str | None = None
    """In place of `text`: bytes that need not be text."""

    @property
    def data(self) -> bytes:
        """What is in it."""
        return self.text.encode() if self.base64 is None else b64decode(self.base64)


class StoredWorkflow(Node):
    """A workflow that the engine keeps under a name."""

    name: str
    cluster_wide: bool = False
    """It is one of all namespaces."""


class Workflow(Node):
    """A whole workflow: the root of the IR."""

    ir_version: t.Literal["1"] = "1"
    name: str
    description: str | None = None
    parameters: tuple[Parameter, ...] = ()
    steps: t.Annotated[tuple[Step, ...], At(scope="steps")] = ()
    stored: StoredWorkflow | None = None
    """What runs in place of steps; the parameters are given to it."""
    outputs: tuple[Output, ...] = ()
    exit_handlers: tuple[ExitHandler, ...] = ()
    schedule: Schedule | None = None
    defaults: t.Annotated[Defaults | None, At(scope="defaults")] = None
    code: tuple[CodeFile, ...] = ()
    code_at: Location | None = None
    """Where the code lies as an archive, for steps that import it."""
    volumes: tuple[Volume, ...] = ()
    files: FileSettings | None = None
    pod: PodSettings | None = None
    timeout_s: Positive | None = None
    keep_s: NonNegativeInt | None = None
    """Seconds after its end at which the engine may forget the run."""
    runs: RunSettings | None = None
    max_parallel: PositiveInt | None = None
    locks: tuple[Lock, ...] = ()
    """Held from the start of the run to its end."""
    metrics: tuple[Metric, ...] = ()
    hooks: t.Annotated[tuple[Hook, ...], At(scope="hooks")] = ()
    suspended: bool = False
    """A run waits for a person before its first step."""
    secrets: tuple[SecretKey, ...] = ()
    """Secrets that must exist where the workflow runs, beyond those that steps name."""
    labels: TextMap = FrozenDict()
    annotations: TextMap = FrozenDict()
    engine: EngineMap = FrozenDict()
    source: SourceRef | None = None
