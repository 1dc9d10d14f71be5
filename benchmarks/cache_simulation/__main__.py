"""Simulate runs of workflows over a cache, under each policy.

python -m benchmarks.cache_simulation FILE... [--cache-size SIZE]... [--policy NAME]...
"""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from benchmarks.cache_simulation.artifact_graph import artifact_graph
from benchmarks.cache_simulation.comparison import Comparison, compare
from benchmarks.cache_simulation.known_lists import steps_of_unknown_items
from benchmarks.cache_simulation.machine import Machine, Misses, Storage
from benchmarks.cache_simulation.report import Report
from benchmarks.cache_simulation.wfformat import is_wfformat, read_wfformat
from couler import stages
from couler.caching.graph import ArtifactGraph
from couler.caching.registry import policy_names, read_policy
from couler.cli import GuardedCommand
from couler.cli.budget import PolicyType, SizeType
from couler.cli.format import aligned, bytes_text, seconds_text
from couler.cli.load import FileType, Source, load
from couler.cli.running import param_option, parse_params
from couler.cli.runs import FORMATS, format_option
from couler.cli.session import Session, pass_session, session_options
from couler.errors import ParameterError
from couler.ir.parameters import parameter_texts, unknown_parameter, with_values
from couler.ir.walk import steps_by_path
from couler.ir.wording import counted
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.durations import known_seconds
from couler.stages.checks import refuse_errors

SCHEMA_VERSION = 1


class Subject(t.NamedTuple):
    """A workflow whose run is simulated."""

    file: str
    name: str
    graph: ArtifactGraph
    notes: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    """Names of those that can be given."""


def _cache_size(text: str) -> Callable[[int], int]:
    """Return what makes the bytes of a cache of those of all artifacts."""
    if text.endswith("%"):
        match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*%", text, flags=re.ASCII)
        share = float(match[1]) / 100 if match else 0.0
        if 0 < share <= 1:
            return lambda total_bytes: int(total_bytes * share)
        raise click.BadParameter(f'"{text}" is no share; it is above 0% and at most 100%')
    size = SizeType().convert(text, None, None)
    if size > 10**18:
        raise click.BadParameter("a cache has at most 1EB, 10^18 bytes")
    return lambda _total_bytes: size


def _bandwidth(text: str) -> int:
    size = SizeType().convert(text, None, None)
    if not 1 <= size <= 10**15:
        raise click.BadParameter("a bandwidth is from 1B to 1PB (10^15 bytes) a second")
    return size


def _latency(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 365 * 86_400:
        raise click.BadParameter(f"{text} is not from 0 to {365 * 86_400} seconds")
    return seconds


def _run_file(text: str) -> Source:
    if text.endswith(".json.gz") and Path(text).is_file():
        return Source(text)
    return FileType().convert(text, None, None)


@click.command(cls=GuardedCommand)
@click.argument("files", type=_run_file, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--cache-size",
    "sizes",
    type=_cache_size,
    multiple=True,
    default=("25%",),
    metavar="SIZE",
    help="As 20GB, or a share of all artifacts, as 25%, the default; can be given several times.",
)
@click.option(
    "--policy",
    "policies",
    type=PolicyType(),
    multiple=True,
    default=policy_names,
    metavar="NAME",
    help="As lru; can be given several times; by default all that are installed.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 1_000_000),
    default=8,
    show_default=True,
    help="Steps at a time.",
)
@click.option(
    "--misses",
    type=click.Choice(t.get_args(Misses)),
    default="reread",
    show_default=True,
    help="Read them from the remote store, or make them again.",
)
@click.option(
    "--remote-latency", type=_latency, default="0.5", show_default=True, metavar="SECONDS"
)
@click.option(
    "--remote-bandwidth", type=_bandwidth, default="100MB", show_default=True, metavar="SIZE/S"
)
@click.option("--cache-latency", type=_latency, default="0", metavar="SECONDS")
@click.option("--cache-bandwidth", type=_bandwidth, metavar="SIZE/S")
@click.option("--known-times", is_flag=True, help="Policies know how long each step takes.")
@param_option
@format_option
@session_options
@pass_session
def main(
    session: Session,
    files: tuple[Source, ...],
    sizes: tuple[Callable[[int], int], ...],
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
    take and how much they give, or a run that was recorded in WfFormat 1.5 (.json or .json.gz).
    With -p a workflow has other parameters than their defaults.
    """
    machine = Machine(
        workers,
        _storage(remote_latency, remote_bandwidth),
        _storage(cache_latency, cache_bandwidth),
        misses,
    )
    chosen = {name: read_policy(name) for name in policies}
    subjects = _read_all(files, parse_params(params))
    found = []
    for one in subjects:
        capacities = dict.fromkeys(size(sum(one.graph.size_bytes)) for size in sizes)
        told = one.graph.seconds if known_times else None
        found.append(compare(one.graph, chosen, tuple(capacities), machine, told_seconds=told))
        for note in one.notes:
            session.info(f"note: {one.name}: {note}")
    if session.settings.choose("format", format_, FORMATS) == "json":
        trees = [_json(one, runs) for one, runs in zip(subjects, found, strict=True)]
        document = {"schema_version": SCHEMA_VERSION, "workflows": trees}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        tables = ("\n".join(_lines(one, runs)) for one, runs in zip(subjects, found, strict=True))
        click.echo("\n\n".join(tables))


def _storage(latency_s: float, bandwidth: int | None) -> Storage:
    return Storage(latency_s) if bandwidth is None else Storage(latency_s, bandwidth, bandwidth)


def _read_all(files: Sequence[Source], given: Mapping[str, object]) -> list[Subject]:
    """Read what FILEs say of runs with the parameters that are given."""
    subjects = [_read(file, given) for file in files]
    names = list(dict.fromkeys(name for one in subjects for name in one.parameters))
    unknown = [unknown_parameter(name, names) for name in given if name not in names]
    if unknown:
        raise ParameterError("\n".join(unknown))
    for one in subjects:
        if sum(one.graph.size_bytes) > 10**18 or sum(one.graph.seconds) > 10**12:
            raise click.BadParameter(
                f"{one.file}: its artifacts are more than 1EB (10^18 bytes) together, or its steps "
                "take more than 10^12 seconds"
            )
    return subjects


def _read(source: Source, given: Mapping[str, object]) -> Subject:
    """Read what a FILE says of a run."""
    path = Path(source.path)
    if path.suffix == ".gz" or (path.suffix == ".json" and is_wfformat(_tree(path))):
        return Subject(source.written, path.name.split(".json")[0], read_wfformat(path))
    loaded = load(source)
    refuse_errors(loaded.workflow, stages.diagnose(loaded))
    workflow = _with_parameters(loaded.workflow, given)
    graph = artifact_graph(workflow)
    names = tuple(parameter.name for parameter in workflow.parameters)
    return Subject(source.written, loaded.name, graph, tuple(_notes(workflow, graph)), names)


def _with_parameters(workflow: Workflow, given: Mapping[str, object]) -> Workflow:
    """Return a workflow whose parameters have for their defaults what is given of them."""
    own = {one.name: given[one.name] for one in workflow.parameters if one.name in given}
    optional = [one.model_copy(update={"required": False}) for one in workflow.parameters]
    values = with_values(workflow.parameters, parameter_texts(tuple(optional), own))
    return workflow.model_copy(update={"parameters": values}) if own else workflow


def _tree(path: Path) -> object:
    """Return what a file has as JSON; None if that is none, which is told of when it is loaded."""
    try:
        return t.cast("object", json.loads(path.read_bytes()))
    except (ValueError, RecursionError):
        return None


_ITEM = re.compile(r"\[\d+\]")
_NAMED = 3
"""How many steps a note names."""


def _notes(workflow: Workflow, graph: ArtifactGraph) -> Iterator[str]:
    """Yield what steps do not say of themselves that matters to the simulation."""
    steps = dict(steps_by_path(workflow))
    paths = [_ITEM.sub("", job) for job in graph.jobs]
    makers = dict.fromkeys(paths[job] for job in graph.producer if job is not None)
    # A job that only joins others has the path of a group, and takes no time.
    runs = [path for path in dict.fromkeys(paths) if not isinstance(steps[path].action, Group)]
    timeless = [path for path in runs if known_seconds(steps[path]) is None]
    if unknown := steps_of_unknown_items(workflow):
        whose, each = ("its", "") if len(unknown) == 1 else ("their", " of each")
        yield f"{_some(unknown)}: {whose} items are known only in a run; 1{each} is taken"
    if sizeless := [path for path in makers if not _is_sized(steps[path])]:
        yield f"the profile of {_some(sizeless)} has no output_bytes; 1 byte is taken"
    if timeless:
        usual = "1 second" if len(timeless) == len(runs) else "the mean of the others"
        yield f"the profile of {_some(timeless)} has no seconds; {usual} is taken"


def _is_sized(step: Step) -> bool:
    return step.profile is not None and step.profile.output_bytes is not None


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {counted(more, 'other')}" if more > 0 else "")


def _lines(one: Subject, found: Sequence[Comparison]) -> Iterator[str]:
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


if __name__ == "__main__":
    main()
