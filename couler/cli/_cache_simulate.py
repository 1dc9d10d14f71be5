"""`couler cache simulate`: what each policy would do with a workflow, without running it."""

from __future__ import annotations

import json
import math
import re
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from couler import stages
from couler.caching.graph import ArtifactGraph
from couler.caching.policy import CachePolicy
from couler.caching.registry import policy_names, read_policy
from couler.caching.simulation import Comparison, Machine, Report, Storage, compare
from couler.caching.simulation.machine import Misses
from couler.caching.simulation.wfformat import is_wfformat, read_wfformat
from couler.cli._budget import PolicyType, SizeType, choose_size
from couler.cli._format import aligned, bytes_text, seconds_text
from couler.cli._load import FileType, Source, load, unreadable
from couler.cli._running import param_option, parse_params
from couler.cli._runs import FORMATS, format_option
from couler.cli._session import Session, pass_session, session_options
from couler.errors import ParameterError, SerializationError
from couler.ir.parameters import parameter_texts, unknown_parameter, with_values
from couler.ir.walk import steps_by_path
from couler.ir.wording import counted
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.artifact_graph import artifact_graph
from couler.optimizers.durations import known_seconds
from couler.optimizers.known_lists import steps_of_unknown_items
from couler.stages import SCHEMA_VERSION
from couler.stages.checks import refuse_errors

DEFAULT_SHARE = 0.25
"""Of all artifacts, what the cache holds if nothing says it."""

MOST_WORKERS = 1_000_000
MOST_LATENCY_S = 365 * 86_400
MOST_BYTES_PER_S = 10**15
MOST_BYTES = 10**18
"""What a cache may hold, and all artifacts of a workflow together."""
MOST_SECONDS = 10**12
"""What all steps of a workflow may take together; so every figure is a number that can be told."""


class RunFileType(FileType):
    """A FILE, or a recorded run in WfFormat, which may be packed (`.json.gz`)."""

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Source:
        """Check that there is such a file."""
        if isinstance(value, str) and value.endswith(".json.gz") and Path(value).is_file():
            return Source(value)
        return super().convert(value, param, ctx)


class CacheSize(t.NamedTuple):
    """A number of bytes, or a share of all artifacts."""

    size_bytes: int | None = None
    share: float = 0.0

    def of(self, total_bytes: int) -> int:
        """Return the bytes."""
        return int(total_bytes * self.share) if self.size_bytes is None else self.size_bytes


class CacheSizeType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """A size such as `20GB`, or a share of all artifacts such as `25%`."""

    name = "size"

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> CacheSize:
        """Read the size or the share."""
        if isinstance(value, CacheSize):
            return value
        if not value.endswith("%"):
            size = SizeType().convert(value, param, ctx)
            if size > MOST_BYTES:  # more digits than can be told, perhaps
                self.fail("a cache has at most 1EB, 10^18 bytes", param, ctx)
            return CacheSize(size)
        match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*%", value, flags=re.ASCII)
        if match is None or not 0 < float(match[1]) <= 100:
            self.fail(f'"{value}" is no share; it is above 0% and at most 100%', param, ctx)
        return CacheSize(share=float(match[1]) / 100)


class Subject(t.NamedTuple):
    """A workflow whose run is simulated."""

    file: str
    name: str
    graph: ArtifactGraph
    notes: tuple[str, ...] = ()
    """What the workflow does not say, and what is taken instead."""
    parameters: tuple[str, ...] = ()
    """Names of those that can be given."""


@click.command()
@click.argument("files", type=RunFileType(), nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--cache-size",
    "sizes",
    type=CacheSizeType(),
    multiple=True,
    metavar="SIZE",
    help="What the cache may hold, as 20GB, or a share of all artifacts, as 25%; can be given "
    "several times. By default cache.budget of the settings, else 25%.",
)
@click.option(
    "--policy",
    "policies",
    type=PolicyType(),
    multiple=True,
    metavar="NAME",
    help="A policy, as lru; can be given several times. By default all that are installed.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=MOST_WORKERS),
    default=Machine().workers,
    show_default=True,
    help="How many steps run at a time.",
)
@click.option(
    "--misses",
    type=click.Choice(t.get_args(Misses)),
    default=Machine().misses,
    show_default=True,
    help="What the cache does not hold is read from the remote store, or made again.",
)
@click.option(
    "--remote-latency",
    type=click.FloatRange(min=0, max=MOST_LATENCY_S),
    default=Machine().remote.latency_s,
    show_default=True,
    metavar="SECONDS",
    help="Before each artifact that is read from the remote store or written to it.",
)
@click.option(
    "--remote-bandwidth",
    type=SizeType(),
    default="100MB",
    show_default=True,
    metavar="SIZE",
    help="What a step reads from it, or writes to it, in a second.",
)
@click.option(
    "--cache-latency",
    type=click.FloatRange(min=0, max=MOST_LATENCY_S),
    default=0.0,
    show_default=True,
    metavar="SECONDS",
    help="The same of the cache.",
)
@click.option(
    "--cache-bandwidth",
    type=SizeType(),
    metavar="SIZE",
    help="The same of the cache; reading from it takes no time if it is not given.",
)
@click.option(
    "--known-times", is_flag=True, help="Tell the policies how long each step takes, too."
)
@param_option
@format_option
@session_options
@pass_session
def command(
    session: Session,
    files: tuple[Source, ...],
    sizes: tuple[CacheSize, ...],
    policies: tuple[str, ...],
    workers: int,
    misses: Misses,
    remote_latency: float,
    remote_bandwidth: int,
    cache_latency: float,
    cache_bandwidth: int | None,
    known_times: bool,
    params: tuple[str, ...],
    format_: str | None,
) -> None:
    """Simulate runs under each policy.

    Nothing is run. FILE is a program or a workflow, whose steps say in their profiles how long they
    take and how much they give; or a run that was recorded in WfFormat 1.5 (.json or .json.gz).
    With -p a workflow has other parameters than their defaults.
    """
    machine = Machine(
        workers,
        _storage("remote", remote_latency, remote_bandwidth),
        _storage("cache", cache_latency, cache_bandwidth),
        misses,
    )
    chosen = {name: read_policy(name) for name in policies or policy_names()}
    asked = sizes or (_usual_size(session),)
    subjects = _read_all(files, parse_params(params))
    found = [_compared(one, chosen, asked, machine, known_times) for one in subjects]
    # Nothing is told before all of it can be.
    if session.settings.choose("format", format_, FORMATS) == "json":
        trees = [_json(one, runs) for one, runs in zip(subjects, found, strict=True)]
        told = {"schema_version": SCHEMA_VERSION, "workflows": trees}
        text = json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False)
    else:
        text = "\n\n".join(
            "\n".join(_told(one, runs)) for one, runs in zip(subjects, found, strict=True)
        )
    for one in subjects:
        for note in one.notes:
            session.info(f"note: {one.name}: {note}")
    click.echo(text)


def _storage(which: str, latency_s: float, bandwidth: int | None) -> Storage:
    if not math.isfinite(latency_s):
        raise click.BadParameter(
            f"{latency_s} is not in the range 0<=x<={MOST_LATENCY_S}",
            param_hint=f"--{which}-latency",
        )
    if bandwidth is None:
        return Storage(latency_s)
    if not 1 <= bandwidth <= MOST_BYTES_PER_S:  # more digits than can be told, perhaps
        raise click.BadParameter(
            "a bandwidth is from 1B to 1PB (10^15 bytes) a second",
            param_hint=f"--{which}-bandwidth",
        )
    return Storage(latency_s, bandwidth, bandwidth)


def _usual_size(session: Session) -> CacheSize:
    budget = choose_size(session, "cache.budget", None)
    if budget is not None and budget > MOST_BYTES:
        raise session.settings.refusal("cache.budget", "at most 1EB, 10^18 bytes")
    return CacheSize(share=DEFAULT_SHARE) if budget is None else CacheSize(budget)


def _read_all(files: Sequence[Source], given: Mapping[str, object]) -> list[Subject]:
    """Read what FILEs say of runs with the parameters that are given."""
    subjects = [_read(file, given) for file in files]
    names = list(dict.fromkeys(name for one in subjects for name in one.parameters))
    unknown = [unknown_parameter(name, names) for name in given if name not in names]
    if unknown:
        raise ParameterError("\n".join(unknown))
    for one in subjects:
        _refuse_beyond(one.file, one.graph)
    return subjects


def _refuse_beyond(file: str, graph: ArtifactGraph) -> None:
    if sum(graph.size_bytes) > MOST_BYTES:
        problem = "its artifacts take more than 1EB, 10^18 bytes, together"
    elif sum(graph.seconds) > MOST_SECONDS:
        problem = "its steps take more than 10^12 seconds together"
    else:
        return
    raise click.BadParameter(f"{file}: {problem}", param_hint="FILE...")


def _read(source: Source, given: Mapping[str, object]) -> Subject:
    """Read what a FILE says of a run."""
    path = Path(source.path)
    if path.suffix == ".gz" or (path.suffix == ".json" and is_wfformat(_tree(path))):
        try:
            graph = read_wfformat(path)
        except SerializationError as error:
            raise unreadable(error, source.path) from error
        return Subject(source.written, path.name.split(".json")[0], graph)
    loaded = load(source)
    refuse_errors(loaded.workflow, stages.diagnose(loaded))
    workflow = _with_parameters(loaded.workflow, given)
    graph = artifact_graph(workflow)
    names = tuple(parameter.name for parameter in workflow.parameters)
    notes = tuple(_notes(workflow, graph))
    return Subject(source.written, loaded.name, graph, notes, names)


def _with_parameters(workflow: Workflow, given: Mapping[str, object]) -> Workflow:
    """Return a workflow whose parameters have for their defaults what is given of them."""
    own = {one.name: given[one.name] for one in workflow.parameters if one.name in given}
    if not own:
        return workflow
    optional = [one.model_copy(update={"required": False}) for one in workflow.parameters]
    values = with_values(workflow.parameters, parameter_texts(tuple(optional), own))
    return workflow.model_copy(update={"parameters": values})


def _tree(path: Path) -> object:
    """Return what a file has as JSON; None if that is none, which is told of when it is loaded."""
    try:
        return t.cast("object", json.loads(path.read_bytes()))
    except (ValueError, RecursionError):
        return None


_ITEM = re.compile(r"\[\d+\]")
_NAMED = 3
"""How many steps a note names."""


def _notes(workflow: Workflow, graph: ArtifactGraph) -> list[str]:
    """Return what steps do not say of themselves that matters to the simulation."""
    steps = dict(steps_by_path(workflow))
    paths = [_ITEM.sub("", job) for job in graph.jobs]
    makers = dict.fromkeys(paths[job] for job in graph.producer if job is not None)
    sizeless = [path for path in makers if not _is_sized(steps[path])]
    # A job that only joins others has the path of a group, and takes no time.
    runs = [path for path in dict.fromkeys(paths) if not isinstance(steps[path].action, Group)]
    timeless = [path for path in runs if known_seconds(steps[path]) is None]
    notes = []
    if unknown := steps_of_unknown_items(workflow):
        whose = "its items are" if len(unknown) == 1 else "their items are"
        each = "1 is taken" if len(unknown) == 1 else "1 of each is taken"
        notes.append(f"{_some(unknown)}: {whose} known only in a run; {each}")
    if sizeless:
        notes.append(f"the profile of {_some(sizeless)} has no output_bytes; 1 byte is taken")
    if timeless:
        usual = "1 second" if len(timeless) == len(runs) else "the mean of the others"
        notes.append(f"the profile of {_some(timeless)} has no seconds; {usual} is taken")
    return notes


def _is_sized(step: Step) -> bool:
    return step.profile is not None and step.profile.output_bytes is not None


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {counted(more, 'other')}" if more > 0 else "")


def _compared(
    one: Subject,
    policies: Mapping[str, CachePolicy],
    sizes: Sequence[CacheSize],
    machine: Machine,
    known_times: bool,
) -> list[Comparison]:
    capacities = dict.fromkeys(size.of(sum(one.graph.size_bytes)) for size in sizes)
    told = one.graph.seconds if known_times else None
    return compare(one.graph, policies, tuple(capacities), machine, told_seconds=told)


def _told(one: Subject, found: Sequence[Comparison]) -> Iterator[str]:
    """Yield the lines of a table for each size of the cache, what is quickest first."""
    graph, without = one.graph, found[0].without
    yield (
        f"{one.name}: {counted(len(graph.jobs), 'step')} read "
        f"{counted(len(graph.artifacts), 'artifact')} of {bytes_text(sum(graph.size_bytes))} "
        f"{counted(without.reads, 'time')}"
    )
    yield (
        f"without a cache: {seconds_text(without.seconds)}, reading {seconds_text(without.read_s)} "
        f"of all steps together, of which {seconds_text(found[0].least_read_s)} cannot be saved"
    )
    for comparison in found:
        yield ""
        yield f"cache of {bytes_text(comparison.capacity_bytes)}"
        rows = [
            (
                name,
                seconds_text(report.seconds),
                seconds_text(report.read_s),
                _percent(comparison.saved(name)),
                _percent(report.hit_ratio if report.reads else None),
                bytes_text(report.peak_bytes),
                bytes_text(round(report.mean_bytes)),
            )
            for name, report in _in_order(comparison)
        ]
        header = ("policy", "time", "reading", "saved", "hits", "most held", "mean held")
        yield from aligned((header, *rows), right=range(1, len(header)))


def _in_order(comparison: Comparison) -> list[tuple[str, Report]]:
    return sorted(comparison.reports.items(), key=lambda one: (one[1].seconds, one[1].read_s))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _json(one: Subject, found: Sequence[Comparison]) -> dict[str, object]:
    graph, without = one.graph, found[0].without
    return {
        "file": one.file,
        "workflow": one.name,
        "notes": list(one.notes),
        "steps": len(graph.jobs),
        "artifacts": len(graph.artifacts),
        "artifact_bytes": sum(graph.size_bytes),
        "reads": without.reads,
        "without_cache": {"seconds": without.seconds, "read_s": without.read_s},
        "least_read_s": found[0].least_read_s,
        "caches": [
            {
                "capacity_bytes": comparison.capacity_bytes,
                "policies": [
                    {
                        "policy": name,
                        "seconds": report.seconds,
                        "read_s": report.read_s,
                        "write_s": report.write_s,
                        "saved": comparison.saved(name),
                        "hits": report.hits,
                        "peak_bytes": report.peak_bytes,
                        "mean_bytes": report.mean_bytes,
                    }
                    for name, report in _in_order(comparison)
                ],
            }
            for comparison in found
        ],
    }
