"""Simulate runs of workflows over a cache, under each policy. Nothing is run.

    python -m benchmarks.cache_simulation FILE... [--cache-size SIZE]... [--policy NAME]...

FILE is a program or a workflow, whose steps say in their profiles how long they take and how much
they give, or a run that was recorded in WfFormat 1.5 (.json or .json.gz). With -p a workflow has
other parameters than their defaults.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.cache_simulation.artifact_graph import artifact_graph
from benchmarks.cache_simulation.comparison import Comparison, compare
from benchmarks.cache_simulation.known_lists import steps_of_unknown_items
from benchmarks.cache_simulation.machine import Machine, Misses, Storage
from benchmarks.cache_simulation.report import Report
from benchmarks.cache_simulation.wfformat import is_wfformat, read_wfformat
from couler import stages
from couler.caching.graph import ArtifactGraph
from couler.caching.registry import policy_names, read_policy
from couler.cli.format import aligned, bytes_text, seconds_text
from couler.cli.load import FileType, load
from couler.errors import CoulerError, ParameterError
from couler.ir.parameters import parameter_texts, unknown_parameter, with_values
from couler.ir.quantity import parse_bytes
from couler.ir.walk import steps_by_path
from couler.ir.wording import counted
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.durations import known_seconds
from couler.stages.checks import refuse_errors

SCHEMA_VERSION = 1


class CacheSize(t.NamedTuple):
    """A number of bytes, or a share of all artifacts."""

    size_bytes: int = 0
    share: float = 0.0

    @classmethod
    def parse(cls, text: str) -> CacheSize:
        if not text.endswith("%"):
            return cls(parse_bytes(text))
        share = float(text.removesuffix("%")) / 100
        if not 0 < share <= 1:
            raise ValueError
        return cls(share=share)

    def of(self, total_bytes: int) -> int:
        return int(total_bytes * self.share) if self.share else self.size_bytes


class Subject(t.NamedTuple):
    """A workflow whose run is simulated."""

    file: str
    name: str
    graph: ArtifactGraph
    notes: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    """Names of those that can be given."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, and print what each policy does."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        machine = Machine(
            options.workers,
            _storage(options.remote_latency, options.remote_bandwidth),
            _storage(options.cache_latency, options.cache_bandwidth),
            options.misses,
        )
        policies = {name: read_policy(name) for name in options.policies or policy_names()}
        subjects = _read_all(options.files, dict(options.params))
    except (CoulerError, OSError, ValueError) as error:
        parser.exit(1, f"error: {error}\n")
    found = []
    for one in subjects:
        sizes = options.sizes or [CacheSize(share=0.25)]
        capacities = dict.fromkeys(size.of(sum(one.graph.size_bytes)) for size in sizes)
        told = one.graph.seconds if options.known_times else None
        found.append(compare(one.graph, policies, tuple(capacities), machine, told_seconds=told))
        for note in one.notes:
            print(f"note: {one.name}: {note}", file=sys.stderr)
    if options.format == "json":
        trees = [_json(one, runs) for one, runs in zip(subjects, found, strict=True)]
        document = {"schema_version": SCHEMA_VERSION, "workflows": trees}
        print(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        tables = ("\n".join(_lines(one, runs)) for one, runs in zip(subjects, found, strict=True))
        print("\n\n".join(tables))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cache_simulation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE")
    add(
        "--cache-size",
        dest="sizes",
        type=CacheSize.parse,
        action="append",
        metavar="SIZE",
        help="as 20GB, or as a share of all artifacts, as 25%%, the default; can be repeated",
    )
    add(
        "--policy",
        dest="policies",
        action="append",
        metavar="NAME",
        help="as lru; can be repeated; all by default",
    )
    add("--workers", type=int, default=8, help="steps at a time; default %(default)s")
    add(
        "--misses",
        choices=t.get_args(Misses),
        default="reread",
        help="read them from the remote store, or make them again; default %(default)s",
    )
    for store, latency, bandwidth in (("remote", 0.5, 100e6), ("cache", 0.0, None)):
        add(f"--{store}-latency", type=float, default=latency, metavar="SECONDS")
        add(f"--{store}-bandwidth", type=parse_bytes, default=bandwidth, metavar="SIZE/S")
    add("--known-times", action="store_true", help="policies know how long each step takes")
    add(
        *("-p", "--param"),
        dest="params",
        type=_parameter,
        action="append",
        default=[],
        metavar="NAME=VALUE",
    )
    add("--format", choices=("text", "json"), default="text")
    return parser


def _parameter(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _storage(latency_s: float, bandwidth: int | None) -> Storage:
    return Storage(latency_s) if bandwidth is None else Storage(latency_s, bandwidth, bandwidth)


def _read_all(files: Sequence[str], given: Mapping[str, object]) -> list[Subject]:
    """Read what FILEs say of runs with the parameters that are given."""
    subjects = [_read(file, given) for file in files]
    names = list(dict.fromkeys(name for one in subjects for name in one.parameters))
    unknown = [unknown_parameter(name, names) for name in given if name not in names]
    if unknown:
        raise ParameterError("\n".join(unknown))
    return subjects


def _read(file: str, given: Mapping[str, object]) -> Subject:
    """Read what a FILE says of a run."""
    path = Path(file)
    if path.suffix == ".gz" or (path.suffix == ".json" and is_wfformat(_tree(path))):
        return Subject(file, path.name.split(".json")[0], read_wfformat(path))
    loaded = load(FileType().convert(file, None, None))
    refuse_errors(loaded.workflow, stages.diagnose(loaded))
    workflow = _with_parameters(loaded.workflow, given)
    graph = artifact_graph(workflow)
    names = tuple(parameter.name for parameter in workflow.parameters)
    return Subject(file, loaded.name, graph, tuple(_notes(workflow, graph)), names)


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
    except ValueError:
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
