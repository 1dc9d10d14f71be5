"""Settings that have several parts: retries, caches, graphics processors, volumes and the like."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from couler.dsl._context import ProgramError
from couler.ir.storage import ConfigKey

Duration: t.TypeAlias = int | float | str
"""Seconds, or text such as `"90s"`, `"20m"`, `"1h30m"` or `"2d"`."""

Effect: t.TypeAlias = t.Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after a failed attempt.

    Attributes
    ----------
    limit
        How often at most, after the first attempt (>= 0); 0 for never.
    wait
        Before the first retry: seconds, or text such as `"10s"`; None for no wait.
    factor
        By which every wait is longer than the one before (>= 1).
    cap
        Longest wait; None for no bound.
    on
        `failure` (the process ended with an exit code), `error` (it could not run or was lost),
        or `transient` alone (an error that is known to pass, see docs/failures.md).
    exit_codes
        Retry after these only; empty for all.
    within
        From the start of the first attempt: no wait goes beyond it, and later attempts end there.
    other_node
        Each attempt on another node than those before.

    Examples
    --------
    >>> import couler
    >>> retry = couler.Retry(3, wait="10s", cap="5m", exit_codes=[137])
    """

    limit: int
    wait: Duration | None = None
    factor: float = 2.0
    cap: Duration | None = None
    on: Sequence[t.Literal["failure", "error", "transient"]] = ("failure", "error")
    exit_codes: Sequence[int] = ()
    within: Duration | None = None
    other_node: bool = False


@dataclass(frozen=True, slots=True)
class Cache:
    """Take a step's outputs from an earlier run that had the same inputs, image and code.

    Attributes
    ----------
    name
        The cache that holds the entries; None for the workflow's own.
    key
        Text or value that is added to the key; change it to run the step again.
    max_age
        How old an entry may be; None or "" for any age.

    Examples
    --------
    >>> import couler
    >>> cache = couler.Cache("features", max_age="7d")
    """

    name: str | None = None
    key: object = None
    max_age: Duration | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """Graphics processors.

    Attributes
    ----------
    count
        How many.
    type
        Such as `a100`; None for any.
    resource
        What they are called on the cluster.
    """

    count: int
    type: str | None = None
    resource: str = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class LocalForm:
    """What runs in place of a job on an engine without a cluster, such as this machine.

    Attributes
    ----------
    source
        A Python function without arguments, or a script; None to run `command` alone.
    command
        The program and its first arguments; with a source its interpreter, by default `python`.
    args
        Arguments, as for `run_container` and `run_script`.
    image
        Where steps run in containers; by default that of the workflow's defaults, or the Python
        of this program.
    packages
        Packages that a Python source imports.
    input
        Files of other steps, as for `run_container`.
    output
        What it writes to files, as for `run_container`: outputs of the job, by their names. Those
        that are missing here cannot be read where the form runs.
    env
        Its environment.
    cpu, memory, gpu
        What it asks for: numbers, or Kubernetes quantities.
    working_dir
        Where it runs, instead of a folder of its own.
    """

    source: str | Callable[..., object] | None = None
    command: str | Sequence[object] | None = None
    args: object = None
    image: str | None = None
    packages: Sequence[str] = ()
    input: object = None
    output: object = None
    env: Mapping[str, object] | None = None
    cpu: int | float | str | None = None
    memory: int | float | str | None = None
    gpu: int | Gpu | None = None
    working_dir: str | None = None


@dataclass(frozen=True, slots=True)
class Toleration:
    """A node taint that pods accept.

    Attributes
    ----------
    key
        Of the taint; None, with the operator `Exists`, for every taint.
    effect
        `NoSchedule`, `PreferNoSchedule` or `NoExecute`; None for all of them.
    operator
        `Equal` for a taint of this value, `Exists` for one of any.
    value
        Of the taint.
    seconds
        For the effect `NoExecute`: how long the pod stays; None for ever.
    """

    key: str | None = None
    effect: Effect | None = None
    operator: t.Literal["Equal", "Exists"] = "Equal"
    value: str | None = None
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Volume:
    """A persistent volume claim that exists.

    Attributes
    ----------
    name
        By which steps mount it.
    claim_name
        Of the claim, on the cluster.
    read_only
        No step can write to it.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("stats") as wf:
    ...     couler.add_volume(couler.Volume("data", claim_name="datasets"))
    ...     stats = couler.run_container(
    ...         "busybox", ["ls", "/data"], volume_mounts=[couler.VolumeMount("data", "/data")])
    """

    name: str
    claim_name: str
    read_only: bool = False

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "to_dict"):  # by which the ancestor wrote manifests
            raise ProgramError(
                "CLR105",
                f"{cls.__name__}.to_dict is never called: Volume cannot be subclassed to write "
                "other fields. Volumes of other kinds have classes, such as couler.HostVolume; "
                "couler.SourceVolume takes any, such as "
                'couler.SourceVolume("data", {"hostPath": {"path": "/data"}})',
            )


@dataclass(frozen=True, slots=True)
class SecretVolume:
    """The entries of a secret as files, under the name by which steps mount them.

    Attributes
    ----------
    name
        By which steps mount them.
    secret
        Name of the secret.
    items
        Path of a file by the key of its entry; None for all entries, by their keys.
    mode
        Permissions of the files, such as `0o440`.
    optional
        The secret need not exist.
    """

    name: str
    secret: str
    items: Mapping[str, str] | None = None
    mode: int | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ConfigVolume:
    """The entries of a config map as files.

    Attributes
    ----------
    name
        By which steps mount them.
    config_map
        Name of the config map.
    items, mode, optional
        As of a `SecretVolume`.
    """

    name: str
    config_map: str
    items: Mapping[str, str] | None = None
    mode: int | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class HostVolume:
    """A folder of the node that a step runs on.

    Attributes
    ----------
    name
        By which steps mount it.
    path
        Of the folder: an absolute path.
    """

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class ScratchVolume:
    """Scratch space that lives as long as one pod.

    A volume that is mounted and never described is one too, without a bound.

    Attributes
    ----------
    name
        By which steps mount it.
    size
        At most so much, such as `"1Gi"`; None for no bound.
    in_memory
        Keep it in memory, where it counts towards that of the step.
    """

    name: str
    size: str | None = None
    in_memory: bool = False


@dataclass(frozen=True, slots=True)
class VolumeClaimTemplate:
    """A persistent volume claim that is made for every run.

    Attributes
    ----------
    claim_name
        By which steps mount it.
    access_modes
        `ReadWriteOnce`, `ReadOnlyMany`, `ReadWriteMany` or `ReadWriteOncePod`; one may stand alone.
    size
        How much it holds, such as `"10Gi"`.
    storage_class
        Of the cluster; None for its default.
    """

    claim_name: str
    access_modes: str | Sequence[str] = ("ReadWriteOnce",)
    size: str = "1Gi"
    storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class VolumeMount:
    """Where a step sees a volume.

    Attributes
    ----------
    name
        Of the volume; one that the workflow does not describe is scratch space.
    mount_path
        Where the step sees it: an absolute path.
    sub_path
        The folder of the volume that is seen; None for all of it.
    read_only
        The step cannot write to it.
    """

    name: str
    mount_path: str
    sub_path: str | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ImagePullSecret:
    """The name of a secret that opens an image registry."""

    name: str


@dataclass(frozen=True, slots=True)
class DnsConfigOption:
    """One option of name resolution: its name, such as `ndots`, and its value, if it has one."""

    name: str
    value: object = None


@dataclass(frozen=True, slots=True)
class DnsConfig:
    """Name resolution of the pods.

    Attributes
    ----------
    nameservers
        IP addresses of servers.
    options
        Such as `couler.DnsConfigOption("ndots", 2)`.
    searches
        Domains in which short names are looked for.
    """

    nameservers: Sequence[str] = ()
    options: Sequence[DnsConfigOption] = ()
    searches: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a workflow runs by itself.

    Attributes
    ----------
    cron
        One or more cron expressions of five fields.
    timezone
        Name of the time zone that they are read in.
    concurrency
        What to do while the run before is still going: `allow`, `forbid` or `replace`.
    starting_deadline
        How late a run may start; None for any delay.
    suspended
        Do not start runs.
    keep_succeeded, keep_failed
        How many ended runs to keep; None leaves it to the engine.
    min_gap
        No run starts so soon after the one before: seconds, or text such as `"30m"`.
    stop_after_succeeded, stop_after_failed
        No run starts any more after so many that have ended so.

    Examples
    --------
    >>> import couler
    >>> nightly = couler.Schedule("0 3 * * *", timezone="Europe/Berlin", concurrency="forbid")
    >>> wf = couler.Workflow("report", schedule=nightly)
    """

    cron: str | Sequence[str]
    timezone: str = "UTC"
    concurrency: t.Literal["allow", "forbid", "replace"] = "allow"
    starting_deadline: Duration | None = None
    suspended: bool = False
    keep_succeeded: int | None = None
    keep_failed: int | None = None
    min_gap: Duration | None = None
    stop_after_succeeded: int | None = None
    stop_after_failed: int | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a run is started with, where a plain default does not say enough.

    Attributes
    ----------
    default
        Taken where a run gives no value.
    type
        The Python type; by default that of `default`, or str.
    required
        A run must give a value; there is no default.
    choices
        The only values allowed; empty for any.
    description
        For people.
    config
        An entry of a config map, whose value is taken where a run gives none; the default is for
        want of the entry.

    Examples
    --------
    >>> import couler
    >>> kind = couler.Parameter("svm", choices=["svm", "tree"])
    >>> day = couler.Parameter(type=str, required=True)
    >>> wf = couler.Workflow("train", kind=kind, day=day)
    """

    default: object = None
    type: object = None
    required: bool = False
    choices: Sequence[object] = field(default=())
    description: str | None = None
    config: ConfigKey | None = None
