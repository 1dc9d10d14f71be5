"""`couler cache sync`: what an engine elsewhere keeps of cached steps, within a budget."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import click

from couler.backends import get_backend
from couler.backends.remote import Connection, RemoteBackend
from couler.backends.shared_entries import KeepsEntries
from couler.cli._duration import DurationType
from couler.cli._targets import NamedTarget, choose_target, connect_to, read_target
from couler.cli.budget import PolicyType, SizeType, choose_policy
from couler.cli.format import aligned, bytes_text, echo_json, time_text
from couler.cli.runs import FORMATS, format_option, open_existing
from couler.cli.session import Session, pass_session, session_options
from couler.control.cache_sync import GRACE, SyncReport, sync_entries
from couler.errors import (
    ConfigurationError,
    EngineError,
    EngineOptionError,
    FilesLeftError,
    StateError,
    StoreError,
    UnsupportedFeatureError,
)
from couler.ir.wording import counted
from couler.stages import SCHEMA_VERSION

if t.TYPE_CHECKING:
    from couler.caching.policy import CachePolicy
    from couler.control.shared_outlook import SharedOutlook
    from couler.state import Database, RunRecord


@click.command()
@click.argument("target", required=False)
@click.option(
    "--repository",
    metavar="URL",
    help="Where the engine keeps the files, such as s3://bucket; else what the target says.",
)
@click.option("--budget", type=SizeType(), help="What all files may take, as 50GB.")
@click.option("--policy", type=PolicyType(), metavar="NAME", help="Says which go; next-use.")
@click.option(
    "--grace",
    type=DurationType(),
    default=f"{GRACE.total_seconds() / 60:g}m",
    show_default=True,
    help="Leave what was used so recently.",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing and say what would be.")
@format_option
@session_options
@pass_session
def command(
    session: Session,
    target: str | None,
    repository: str | None,
    budget: int | None,
    policy: str | None,
    grace: timedelta,
    dry_run: bool,
    format_: str | None,
) -> None:
    """Remove what is worth least of what TARGET keeps of cached steps.

    Entries go before their files, and nothing that a run reads which goes on. Runs may go on, and
    several may do this at the same time.
    """
    named, engine = choose_target(session, None, target, argument="TARGET")
    _keeping(engine)
    if repository is None:
        repository = None if named is None else named.files
    if repository is None:
        raise click.UsageError(
            "it is not stated where the files are. Give --repository URL, such as s3://bucket, or "
            "set repository in the table of the target"
        )
    connection = connect_to(session, None, target)
    failure: FilesLeftError | None = None
    try:
        report = _sync(
            *(session, connection, repository),
            policy=_policy(session, policy),
            budget=_budget(named, budget),
            outlook=_outlook(session, connection.engine),
            grace=grace,
            dry_run=dry_run,
        )
    except FilesLeftError as error:
        if not isinstance(error.report, SyncReport):
            raise
        report, failure = error.report, error
    _show(session, report, dry_run, format_)
    if failure is not None:
        raise failure


def _show(session: Session, report: SyncReport, dry_run: bool, format_: str | None) -> None:
    """Print what was done; the reasons of what went are the output of the command."""
    if session.settings.choose("format", format_, FORMATS) == "json":
        told = {"schema_version": SCHEMA_VERSION, **_json(report, dry_run)}
        echo_json(told)
        return
    rows = [
        (one.entry.key[:12], one.entry.place, bytes_text(one.size_bytes), one.reason)
        for one in report.removed
    ]
    for line in aligned((("key", "config map", "size", "why"), *rows)) if rows else ():
        click.echo(line)
    session.info(_told(report, dry_run))


_CANNOT = (
    ConfigurationError,
    EngineError,
    EngineOptionError,
    StateError,
    StoreError,
    UnsupportedFeatureError,
)

Keep: t.TypeAlias = t.Callable[..., str | None]
"""Keeps a budget, and returns what there is to tell of it: `keep(is_over=...)`."""


def keeper_of(session: Session, run: RunRecord, database: Database) -> Keep | None:
    """Return what keeps within the budget what the target of a run has of cached steps."""
    name = None if run.target is None else run.target.get("name")
    stated = None if name is None else session.settings.targets.get(name)
    if name is None or stated is None or "cache_budget" not in stated.document.tree:
        return None

    def keep(*, is_over: bool) -> str | None:
        try:
            report = _keep(session, read_target(name, stated), run, database)
        except _CANNOT as error:
            return f"what cached steps left could not be kept within the budget: {error}"
        if report is None or not (is_over or report.removed):
            return None
        return f"of what cached steps left: {_told(report, dry_run=False)}"

    return keep


def _keep(
    session: Session, target: NamedTarget, run: RunRecord, database: Database
) -> SyncReport | None:
    """Keep to the budget of a target; None if it does not state where its files are."""
    from couler.control.connecting import recorded_connection
    from couler.control.shared_outlook import read_outlook

    repository, budget = target.files, target.cache_budget
    if repository is None or budget is None:
        return None
    return _sync(
        *(session, recorded_connection(run), repository),
        policy=_policy(session, None),
        budget=budget,
        outlook=read_outlook(database, run.engine, run.id),
    )


def _sync(
    session: Session,
    connection: Connection,
    repository: str,
    *,
    policy: CachePolicy,
    budget: int,
    outlook: SharedOutlook,
    grace: timedelta = GRACE,
    dry_run: bool = False,
) -> SyncReport:
    from couler.store.run_files import RunFiles

    return sync_entries(
        _keeping(connection.engine).entries(connection, session.environment),
        RunFiles(repository),
        policy,
        budget_bytes=budget,
        now=datetime.now(UTC),
        outlook=outlook,
        grace=grace,
        dry_run=dry_run,
    )


def _outlook(session: Session, engine: str) -> SharedOutlook:
    from couler.control.shared_outlook import NOTHING_KNOWN, read_outlook

    with open_existing(session, None) as found:
        return NOTHING_KNOWN if found is None else read_outlook(found[0], engine)


def _keeping(engine: str) -> KeepsEntries:
    """Return the backend of an engine whose entries can be removed from here."""
    backend: object = get_backend(engine)
    if isinstance(backend, KeepsEntries):
        return backend
    if isinstance(backend, RemoteBackend):
        raise UnsupportedFeatureError(
            f"{engine}: no policy and no budget decides there what stays of cached steps. An entry "
            "goes by the max_age of its step, or by what cleans the storage of the files",
            (),
        )
    raise UnsupportedFeatureError(
        f"{engine}: `couler cache sync` is for engines elsewhere. `couler cache gc` keeps to the "
        "budget of this machine",
        (),
    )


def _policy(session: Session, flag: str | None) -> CachePolicy:
    from couler.caching.registry import default_policy, read_policy

    text = choose_policy(session, flag)
    return default_policy() if text is None else read_policy(text)


def _budget(target: NamedTarget | None, flag: int | None) -> int:
    """Return the budget of a target. That of this machine, `cache.budget`, says nothing of it."""
    if flag is not None:
        return flag
    if target is None or target.cache_budget is None:
        raise click.UsageError(
            "no budget is stated. Give --budget SIZE, such as 50GB, or set cache_budget in the "
            "table of the target"
        )
    return target.cache_budget


def _json(report: SyncReport, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "entries": report.entries,
        "size_bytes": report.size_bytes,
        "freed_bytes": report.freed_bytes,
        "over_bytes": report.over_bytes,
        "in_use": report.in_use,
        "used_meanwhile": report.used_meanwhile,
        "elsewhere": report.elsewhere,
        "full": list(report.full),
        "left": list(report.left),
        "removed": [
            {
                "place": one.entry.place,
                "key": one.entry.key,
                "made_by": one.entry.made_by,
                "made_at": time_text(one.entry.made_at),
                "used_at": time_text(one.entry.used_at),
                "seconds": one.entry.seconds,
                "size_bytes": one.size_bytes,
                "locations": list(one.entry.locations),
                "reason": one.reason,
            }
            for one in report.removed
        ],
    }


def _told(report: SyncReport, dry_run: bool) -> str:
    would = "would remove" if dry_run else "removed"
    text = (
        f"{would} {_entries_text(len(report.removed))} ({bytes_text(report.freed_bytes)}) of "
        f"{report.entries:,} ({bytes_text(report.size_bytes)})"
    )
    if report.in_use:
        text += f"; {_entries_text(report.in_use)} in use or used a moment ago"
    if report.used_meanwhile:
        text += f"; {_entries_text(report.used_meanwhile)} used or removed meanwhile"
    if report.elsewhere:
        text += f"; {_entries_text(report.elsewhere)} of other repositories left alone"
    if report.full:
        text += f"; too full with what is in use or of others: {', '.join(report.full)}"
    if report.over_bytes:
        text += f"; {bytes_text(report.over_bytes)} over the budget"
    return text


def _entries_text(count: int) -> str:
    return counted(count, "entry", "entries")
