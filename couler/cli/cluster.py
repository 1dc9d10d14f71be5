"""`couler cluster`: the machines that steps can be placed on."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import click

from couler import stages
from couler.cli._duration import DurationType
from couler.cli._options import (
    cluster_option,
    engine_option,
    find_cluster_file,
    namespace_option,
    target_option,
)
from couler.cli.format import aligned, echo_json
from couler.cli.load import FileType, Source, load
from couler.cli.runs import FORMATS, format_option, history_of, home_option
from couler.cli.session import Session, pass_session, session_options, writing
from couler.cluster.kubernetes_nodes import GROUP_LABEL, read_live_nodes
from couler.cluster.reading import CLUSTER_FILE, read_cluster_file
from couler.cluster.values import check_label_key
from couler.errors import ConfigurationError, EngineError, EngineOptionError
from couler.stages import SCHEMA_VERSION

if t.TYPE_CHECKING:
    from couler.backends.remote import Connection
    from couler.cluster.controller import PlannedJob
    from couler.cluster.kubernetes_nodes import LiveNodes
    from couler.cluster.model import Cluster
    from couler.optimizers.scheduling.planning import (
        ClusterJob,
        PlanOptions,
        PlanPolicy,
        PriceKind,
    )

SPEED_FORMATS = ("text", "json", "yaml")


@click.group()
@session_options
def command() -> None:
    """Show the machines that steps can be placed on.

    They are described in a file, cluster.yaml: by hand, or written from what a live cluster tells.
    """


@command.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="[FILE]", required=False)
@format_option
@session_options
@pass_session
def show(session: Session, file: Path | None, format_: str | None) -> None:
    """Check the description of a cluster, and show it.

    FILE is by default the setting cluster, else cluster.yaml in this folder. -v adds labels.
    """
    from couler.cli._cluster_table import cluster_json, show_cluster, totals

    found = _described(session, file)
    cluster = read_cluster_file(found)
    if session.settings.choose("format", format_, FORMATS) == "json":
        echo_json({"schema_version": SCHEMA_VERSION, "file": str(found), **cluster_json(cluster)})
        return
    show_cluster(session, cluster)
    session.info(totals(cluster))
    _tell_doubts(session, cluster)


@command.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="[FILE]", required=False)
@click.option("--format", "format_", type=click.Choice(SPEED_FORMATS), help="How to show them.")
@click.option(
    "--group-label",
    default="",
    metavar="KEY",
    help="The label of nodes that names their group, as place{group_label=KEY} has it.",
)
@home_option
@session_options
@pass_session
def speeds(
    session: Session, file: Path | None, format_: str | None, group_label: str, home: Path | None
) -> None:
    """Show how fast machines compute: as stated, and as earlier runs have shown.

    That is what the pass place goes by. FILE is by default the setting cluster, else cluster.yaml
    in this folder. As yaml, what is learned takes the place of what is stated, to be pasted.
    """
    from couler.cli._cluster_speeds import speed_cells, speed_rows, with_learned
    from couler.cluster.writing import speeds_to_yaml
    from couler.optimizers.passes.place import Place
    from couler.optimizers.placement.learning import learn_speeds
    from couler.optimizers.placement.selecting import Selectors

    found = _described(session, file)
    cluster = read_cluster_file(found)
    learned = learn_speeds(
        history_of(session, home).timings(),
        Selectors(cluster, group_label).labelled(cluster),
        gpu_models=Place().gpu_models,
    )
    rows = speed_rows(cluster, learned)
    chosen = session.settings.choose("format", format_, SPEED_FORMATS)
    if chosen == "json":
        echo_json(
            {
                "schema_version": SCHEMA_VERSION,
                "file": str(found),
                "speeds": [row.to_json() for row in rows],
            }
        )
        return
    if not rows:
        session.info("no speeds are stated, and no earlier run has shown any on these machines")
    elif chosen == "yaml":
        click.echo(speeds_to_yaml(with_learned(cluster, learned)), nl=False)
    else:
        for line in aligned(speed_cells(rows), right={2, 3}):
            click.echo(line)
        if not learned:
            session.info("no earlier run has shown any on these machines")
        _tell_doubts(session, cluster)


@command.command()
@click.argument("files", type=FileType(), metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--policy",
    type=click.Choice(("oasis", "specon", "remaining-work")),
    default="oasis",
    show_default=True,
    help="oasis: admission and sizes by slot; specon, remaining-work: moves between nodes.",
)
@click.option(
    "--slot",
    type=DurationType(),
    default="1h",
    show_default=True,
    help="Length of a slot of oasis.",
)
@click.option(
    "--slots", type=click.IntRange(1, 10_000), default=24, show_default=True, help="Slots to plan."
)
@click.option(
    "--prices",
    type=click.Choice(("calibrated", "paper")),
    default="calibrated",
    show_default=True,
    help="Prices of oasis: by what scarce resources are worth to these jobs, or as in its paper.",
)
@click.option(
    "--interval",
    type=DurationType(),
    default="30s",
    show_default=True,
    help="How often the jobs are looked at, and moves decided on.",
)
@click.option("--apply", "apply_", is_flag=True, help="Carry the plan out, until all jobs end.")
@click.option("--name", default="jobs", show_default=True, help="Name of a plan that is applied.")
@cluster_option
@engine_option
@target_option
@namespace_option
@format_option
@session_options
@pass_session
def plan(
    session: Session,
    files: tuple[Source, ...],
    policy: PlanPolicy,
    slot: timedelta,
    slots: int,
    prices: PriceKind,
    interval: timedelta,
    apply_: bool,
    name: str,
    cluster_file: Path | None,
    engine: str | None,
    target_name: str | None,
    namespace: str | None,
    format_: str | None,
) -> None:
    """Plan the training jobs of workflows on a cluster: which run, where, and how large.

    The jobs are resources that the workflows create: PyTorchJob, TFJob, MPIJob and, for moves, Job.
    For oasis they state their work with elastic=couler.Elastic(...). --apply creates them through
    the Kubernetes API, with the credentials of an Argo target, changes and moves them as planned
    until they have ended, and continues a stored plan.
    """
    from couler.backends import get_backend
    from couler.backends.remote import ManagesObjects
    from couler.cli._targets import connect_to
    from couler.control.training_plans import apply_plan

    try:
        from couler.optimizers.scheduling.planning import PlanOptions, training_jobs
    except ImportError as error:
        raise ConfigurationError(
            "planning jobs needs an extra: pip install 'couler[opt]'"
        ) from error
    if min(slot, interval) <= timedelta():
        raise click.UsageError("--slot and --interval must be longer than nothing")
    cluster = read_cluster_file(_described(session, cluster_file, files[0]))
    options = PlanOptions(policy, slot.total_seconds(), slots, prices, interval.total_seconds())
    jobs = training_jobs([stages.plan(load(file), passes=()).workflow for file in files])
    if not apply_:
        _show_plan(session, jobs, cluster, options, format_)
        return
    connection = connect_to(session, engine, target_name, namespace=namespace)
    backend: object = get_backend(connection.engine)
    if not isinstance(backend, ManagesObjects):
        raise EngineOptionError(
            f"targets of {connection.engine} do not lead to the Kubernetes API. Use a target of "
            "argo, or -e argo for the cluster of KUBECONFIG"
        )
    objects = backend.objects(connection, session.environment)
    carried_out = apply_plan(jobs, cluster, options, objects, name, session.info)
    if any(job.state in ("failed", "deleted") for job in carried_out.jobs):
        raise click.exceptions.Exit(1)


@command.command("import")
@engine_option
@target_option
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="The file to write; - is standard output, the default.",
)
@click.option(
    "--group-label",
    default=GROUP_LABEL,
    show_default=True,
    metavar="KEY",
    help="The label of nodes that names their group.",
)
@click.option("--name", default="", metavar="NAME", help="What to call the cluster.")
@click.option(
    "--update",
    is_flag=True,
    help="OUT is there: keep the prices, groups and types of GPUs that it states.",
)
@session_options
@pass_session
def import_(
    session: Session,
    engine: str | None,
    target_name: str | None,
    output: str | None,
    group_label: str,
    name: str,
    update: bool,
) -> None:
    """Describe a live cluster: write what its nodes tell.

    Asks the Kubernetes API for the nodes, as `couler submit` gets in, and changes nothing there.
    What takes no pods now is left out.
    """
    from couler.cli._targets import connect_to

    _check_key(group_label)
    file = None if output is None or output == "-" else Path(output)
    earlier = _earlier(file, update=update)
    connection = connect_to(session, engine, target_name)
    items = _nodes_of(session, connection)
    found = read_live_nodes(items, name=name, group_label=group_label, earlier=earlier)
    for one in found.left_out:
        session.info(f"left out {one.name}: {one.reason}")
    if not found.cluster.nodes:
        raise EngineError(
            f"{connection.engine}: the cluster has no node that takes pods, of {len(items)}; there "
            "is nothing to describe"
        )
    _write(session, _text(found, connection), file)
    for remark in found.remarks:
        session.info(f"note: {remark}")


@command.command()
@session_options
def schema() -> None:
    """Print the JSON schema of cluster.yaml, for editors."""
    from couler.cluster.tables import json_schema

    echo_json(json_schema())


def _described(session: Session, file: Path | None, program: Source | None = None) -> Path:
    found = find_cluster_file(session, file, program)
    if found is None:
        raise click.UsageError(
            f"no cluster is described. Give FILE, set cluster in [tool.couler], or write "
            f"{CLUSTER_FILE}, with `couler cluster import` or by hand"
        )
    return found


def _tell_doubts(session: Session, cluster: Cluster) -> None:
    from couler.optimizers.placement.cluster_doubts import doubts_of

    for told in doubts_of(cluster):
        session.info(f"note: {told}")


def _check_key(group_label: str) -> None:
    try:
        check_label_key(group_label)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--group-label") from error


def _earlier(file: Path | None, *, update: bool) -> Cluster | None:
    """Return what the file to be written states already; it is not written over by accident."""
    if file is None:
        if update:
            raise click.UsageError("--update wants -o OUT, the file that is written anew")
        return None
    if file.exists() and not update:
        raise click.UsageError(
            f"{file} is there. Give --update to write it anew and keep the prices, groups and "
            "types of GPUs that it states, or another -o OUT"
        )
    if not file.exists():
        return None
    return read_cluster_file(file)


def _nodes_of(session: Session, connection: Connection) -> t.Sequence[t.Any]:
    from couler.backends import get_backend
    from couler.backends.remote import ListsNodes

    backend: object = get_backend(connection.engine)
    if not isinstance(backend, ListsNodes):
        raise EngineOptionError(
            f"targets of {connection.engine} do not lead to the Kubernetes API, which tells of "
            "nodes. Use a target of argo, or -e argo for the cluster of KUBECONFIG"
        )
    return backend.nodes(connection, session.environment)


def _text(found: LiveNodes, connection: Connection) -> str:
    from couler.cluster.writing import to_yaml

    place = f"the target {connection.name}" if connection.name else connection.engine
    left_out = f", without {len(found.left_out):,} that took none" if found.left_out else ""
    head = (
        f"# The nodes of {place} that took pods{left_out}; `couler cluster import` wrote this.\n"
        "# Processors and memory are what pods may have (allocatable).\n"
    )
    return head + to_yaml(found.cluster)


def _write(session: Session, text: str, file: Path | None) -> None:
    if file is None:
        click.echo(text, nl=False)
        return
    with writing("-o", file):
        file.write_text(text, encoding="utf-8")
    session.info(f"wrote {file}")


def _show_plan(
    session: Session,
    jobs: Sequence[ClusterJob],
    cluster: Cluster,
    options: PlanOptions,
    format_: str | None,
) -> None:
    """Plan jobs, and print the plan."""
    from couler.optimizers.scheduling.planning import plan_nodes, plan_sizes

    as_json = session.settings.choose("format", format_, FORMATS) == "json"
    planned, prices = (
        plan_sizes(jobs, cluster, options)
        if options.policy == "oasis"
        else (plan_nodes(jobs, cluster), [])
    )
    if as_json:
        head = {"schema_version": SCHEMA_VERSION, "policy": options.policy}
        slots = {"slot_s": options.slot_s, "prices": prices} if prices else {}
        echo_json({**head, **slots, "jobs": [_as_json(job) for job in planned]})
        return
    if not prices:
        for line in aligned([("job", "node"), *((job.name, job.node or "") for job in planned)]):
            click.echo(line)
        return
    _show_sizes(planned)
    click.echo()
    _show_prices(prices)
    admitted = sum(bool(job.slots) for job in planned)
    session.info(f"{admitted} of {len(planned)} jobs are admitted")


def _as_json(job: PlannedJob) -> dict[str, t.Any]:
    found = asdict(job)
    for name in ("manifest", "hosts", "gpus", "used_s"):
        del found[name]
    return {**found, "cost": job.cost if job.cost < float("inf") else None}


def _show_sizes(jobs: Sequence[PlannedJob]) -> None:
    rows = [("job", "admitted", "utility", "cost", "workers by slot, or why not")]
    for job in jobs:
        sizes = " ".join(f"{job.size(slot)[0]}" for slot in map(int, job.slots))
        answer = "yes" if job.slots else "no"
        cost = f"{job.cost:.4g}" if job.cost < float("inf") else ""
        rows.append((job.name, answer, f"{job.utility:.4g}", cost, sizes or job.reason))
    for line in aligned(rows, right={2, 3}):
        click.echo(line)


def _show_prices(prices: Sequence[dict[str, float]]) -> None:
    cells = [("slot", *(f"price of {name}" for name in prices[0]))]
    for row, same in itertools.groupby(enumerate(prices), key=lambda pair: pair[1]):
        slots = [slot for slot, _ in same]
        label = f"{slots[0]}" if len(slots) == 1 else f"{slots[0]} to {slots[-1]}"
        cells.append((label, *(f"{price:.4g}" for price in row.values())))
    for line in aligned(cells, right={1, 2, 3}):
        click.echo(line)
