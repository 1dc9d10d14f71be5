"""`couler cache`: the outputs that steps of later runs can take instead of running."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta

import click

from couler.budget.judging import Budget, Judge
from couler.budget.keeping import keep_budget
from couler.cli import _cache_simulate, _cache_sync
from couler.cli._budget import chosen_budget
from couler.cli._duration import DurationType
from couler.cli._format import aligned, bytes_text, minute_text, seconds_text, time_text
from couler.cli._runs import FORMATS, format_option, open_home
from couler.cli._session import Session, pass_session, session_options
from couler.ir.wording import counted
from couler.stages import SCHEMA_VERSION
from couler.state import Database
from couler.state.admission import read_ledger
from couler.state.cache import find_entries, list_entries, pin_entries, stats_of_cache
from couler.state.entries import Entry
from couler.state.garbage import GRACE, Collected, collect_garbage

_KEY_LETTERS = 12
"""How much of a key people see; a beginning that no other key has names an entry."""


@click.group()
@session_options
def command() -> None:
    """Show and clean what steps can reuse.

    A step with a cache leaves its outputs there when it has run; a later run of the same step with
    the same inputs takes them. ENTRY is a key or its beginning, STEP or WORKFLOW/STEP.
    """


@command.command()
@click.argument("names", nargs=-1, metavar="[ENTRY]...")
@click.option("--workflow", metavar="NAME", help="Only what runs of this workflow made.")
@click.option("--worth", is_flag=True, help="What each is worth to the policy now; least first.")
@format_option
@session_options
@pass_session
def ls(
    session: Session,
    names: tuple[str, ...],
    workflow: str | None,
    worth: bool,
    format_: str | None,
) -> None:
    """List the entries, the last used first."""
    judge = Judge(chosen_budget(session)) if worth else None
    with open_home(session, None) as (database, _):
        if names:
            entries = _named(database, names)
            entries = [entry for entry in entries if workflow in (None, entry.workflow)]
        else:
            entries = list_entries(database, workflow=workflow)
        worths: dict[str, float] = {}
        if judge is not None:
            with database.read() as connection:
                worths = judge.worths(read_ledger(connection))
            entries.sort(key=lambda entry: (worths[entry.key], entry.used))
    if session.settings.choose("format", format_, FORMATS) == "json":
        _echo_json({"entries": [_entry_json(entry, worths) for entry in entries]})
        return
    if not entries:
        session.info("there is no entry")
        return
    rows = [_row(entry, worths) for entry in entries]
    told = ("worth",) if worth else ()
    header = ("key", "step", "size", "took", "hits", "last used (UTC)", *told, "")
    for line in aligned((header, *rows)):
        click.echo(line)


@command.command()
@format_option
@session_options
@pass_session
def stats(session: Session, format_: str | None) -> None:
    """Show what the cache holds and what it saved."""
    budget = chosen_budget(session)
    with open_home(session, None) as (database, _):
        found = stats_of_cache(database)
    if session.settings.choose("format", format_, FORMATS) == "json":
        limits = {
            "budget_bytes": budget.total_bytes,
            "run_budget_bytes": budget.run_bytes,
            "policy": budget.name,
        }
        _echo_json({**limits, **found._asdict()})
        return
    click.echo(f"entries   {found.entries}, of which {found.pinned} pinned")
    click.echo(f"size      {bytes_text(found.size_bytes)}")
    click.echo(f"budget    {_budget_text(budget, found.size_bytes)}")
    click.echo(f"hits      {found.hits} of {found.hits + found.misses}")
    click.echo(f"saved     {seconds_text(found.saved_s)}")
    click.echo(f"lost      {seconds_text(found.lost_s)}, running again what had been evicted")
    click.echo(f"rejected  {found.rejected}")
    click.echo(f"evicted   {found.evicted}")


@command.command()
@click.option(
    "--unused-for",
    type=DurationType(),
    default="30d",
    show_default=True,
    help="Remove entries that were not used for so long.",
)
@click.option(
    "--grace",
    type=DurationType(),
    default=f"{GRACE.total_seconds() / 3600:g}h",
    show_default=True,
    help="Keep files that were written so recently; less is for when nothing runs.",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing and say what would be.")
@click.option(
    "--sole-user",
    is_flag=True,
    help="The store that COULER_STORE_URL names serves no other database.",
)
@format_option
@session_options
@pass_session
def gc(
    session: Session,
    unused_for: timedelta,
    grace: timedelta,
    dry_run: bool,
    sole_user: bool,
    format_: str | None,
) -> None:
    """Remove entries that nobody uses, then files that nothing refers to.

    If there is a budget (`cache.budget` of the settings), entries of least worth go until it is
    kept. Runs may go on meanwhile. Pinned entries stay, and so do files of runs that are still
    listed.
    """
    from couler.store import ObjectStore

    budget = chosen_budget(session)
    with open_home(session, None) as (database, home):
        if home.store is not None and not (sole_user or dry_run):
            raise click.UsageError(
                f"the store {home.store} may serve other databases, whose files would be removed. "
                "Give --sole-user if it serves this one alone"
            )
        store = ObjectStore(home.store_url)
        evicted = 0
        if budget.is_limited and not dry_run:
            evicted = len(keep_budget(database, store, Judge(budget)))
        collected = collect_garbage(
            database, store, unused_for=unused_for, grace=grace, dry_run=dry_run
        )
    if session.settings.choose("format", format_, FORMATS) == "json":
        _echo_json({"dry_run": dry_run, "evicted": evicted, **collected._asdict()})
        return
    if evicted:
        click.echo(f"evicted {counted(evicted, 'entry', 'entries')} to keep the budget")
    click.echo(_told(collected, dry_run))


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="ENTRY...")
@session_options
@pass_session
def pin(session: Session, names: tuple[str, ...]) -> None:
    """Keep entries until they are unpinned."""
    _pin(session, names, pinned=True)


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="ENTRY...")
@session_options
@pass_session
def unpin(session: Session, names: tuple[str, ...]) -> None:
    """Let entries go again when nobody uses them."""
    _pin(session, names, pinned=False)


def _pin(session: Session, names: tuple[str, ...], *, pinned: bool) -> None:
    with open_home(session, None) as (database, _):
        entries = _named(database, names)
        pin_entries(database, [entry.key for entry in entries], pinned=pinned)
    for entry in entries:
        word = "pinned" if pinned else "unpinned"
        session.info(f"{word} {entry.key[:_KEY_LETTERS]} {entry.workflow}/{entry.step}")


def _named(database: Database, names: Iterable[str]) -> list[Entry]:
    found = {entry.key: entry for name in names for entry in find_entries(database, name)}
    return list(found.values())


def _budget_text(budget: Budget, used_bytes: int) -> str:
    """Return what may be kept, how full that is, and who decides."""
    if not budget.is_limited:
        return "none: everything is kept"
    told = []
    if budget.total_bytes is not None:
        share = f"{used_bytes / budget.total_bytes:.0%} used" if budget.total_bytes else "nothing"
        told.append(f"{bytes_text(budget.total_bytes)}, {share}")
    if budget.run_bytes is not None:
        told.append(f"{bytes_text(budget.run_bytes)} a run")
    return f"{', '.join(told)}, by {budget.name}"


def _row(entry: Entry, worths: Mapping[str, float]) -> tuple[str, ...]:
    worth = (f"{worths[entry.key]:.3g}",) if worths else ()
    return (
        entry.key[:_KEY_LETTERS],
        f"{entry.workflow}/{entry.step}",
        bytes_text(entry.size_bytes),
        seconds_text(entry.cost_s),
        str(entry.hits),
        minute_text(entry.last_used),
        *worth,
        "pinned" if entry.pinned else "",
    )


def _entry_json(entry: Entry, worths: Mapping[str, float]) -> dict[str, object]:
    worth = {"worth": worths[entry.key]} if worths else {}
    return {
        **worth,
        "key": entry.key,
        "workflow": entry.workflow,
        "step": entry.step,
        "run_id": entry.run_id,
        "path": entry.path,
        "size_bytes": entry.size_bytes,
        "cost_s": entry.cost_s,
        "hits": entry.hits,
        "pinned": entry.pinned,
        "created": time_text(entry.created),
        "last_used": time_text(entry.last_used),
        "outputs": dict(entry.outputs),
    }


def _told(collected: Collected, dry_run: bool) -> str:
    would = "would remove" if dry_run else "removed"
    entries = counted(collected.entries, "entry", "entries")
    files = counted(collected.objects, "file")
    return f"{would} {entries} and {files} ({bytes_text(collected.size_bytes)})"


def _echo_json(tree: dict[str, object]) -> None:
    told = {"schema_version": SCHEMA_VERSION, **tree}
    click.echo(json.dumps(told, ensure_ascii=False, indent=2))


command.add_command(_cache_simulate.command, "simulate")
command.add_command(_cache_sync.command, "sync")
