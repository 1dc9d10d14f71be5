"""`couler cache`: the outputs that steps of later runs can take instead of running."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping
from datetime import timedelta

import click

from couler.budget.cleaning import Cleaned, Held, clean_cache, measure_held
from couler.budget.courses import Latest, latest_course
from couler.budget.judging import Budget, Judge
from couler.cli import _cache_sync
from couler.cli._duration import DurationType
from couler.cli.budget import AskedBudget, budget_options
from couler.cli.format import aligned, bytes_text, echo_json, minute_text, seconds_text, time_text
from couler.cli.runs import FORMATS, format_option, open_home
from couler.cli.session import Session, pass_session, session_options
from couler.ir.wording import counted
from couler.stages import SCHEMA_VERSION
from couler.state import Database
from couler.state.cache import (
    find_entries,
    list_entries,
    pin_entries,
    remove_entries,
    stats_of_cache,
)
from couler.state.entries import Entry
from couler.state.garbage import GRACE
from couler.state.ledger import read_ledger

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
@budget_options
@format_option
@session_options
@pass_session
def ls(
    session: Session,
    names: tuple[str, ...],
    workflow: str | None,
    worth: bool,
    asked: AskedBudget,
    format_: str | None,
) -> None:
    """List the entries, the last used first.

    With --worth, what goes first if there is no room: to the run that began last, if some are under
    way, and else to the one after that which used the cache last.
    """
    if asked != (None, None, None) and not worth:
        raise click.UsageError("a budget or a policy tells what entries are worth: give --worth")
    budget = asked.choose(session)
    with open_home(session, None) as (database, _):
        if names:
            entries = _named(database, names)
            entries = [entry for entry in entries if workflow in (None, entry.workflow)]
        else:
            entries = list_entries(database, workflow=workflow)
        worths: dict[str, float] = {}
        if worth:
            worths = _worths(session, database, budget)
            # What went meanwhile is worth nothing any more.
            entries = [entry for entry in entries if entry.key in worths]
            entries.sort(key=lambda entry: (worths[entry.key], entry.used))
    if session.settings.choose("format", format_, FORMATS) == "json":
        echo_json(
            {
                "schema_version": SCHEMA_VERSION,
                "entries": [_entry_json(entry, worths) for entry in entries],
            }
        )
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
@budget_options
@format_option
@session_options
@pass_session
def stats(session: Session, asked: AskedBudget, format_: str | None) -> None:
    """Show what the cache holds and what it saved."""
    from couler.store import ObjectStore

    budget = asked.choose(session)
    with open_home(session, None) as (database, home):
        found = stats_of_cache(database)
        held = measure_held(database, ObjectStore(home.store_url))
    if session.settings.choose("format", format_, FORMATS) == "json":
        limits = {
            "budget_bytes": budget.total_bytes,
            "run_budget_bytes": budget.run_bytes,
            "policy": budget.name,
        }
        echo_json({"schema_version": SCHEMA_VERSION, **limits, **found._asdict(), **held._asdict()})
        return
    click.echo(f"entries   {found.entries}, of which {found.pinned} pinned")
    click.echo(f"size      {bytes_text(found.size_bytes)}")
    click.echo(f"budget    {_budget_text(budget, found.size_bytes)}")
    if (told := _pinned_text(budget, found.pinned_bytes)) is not None:
        click.echo(f"pinned    {told}")
    click.echo(f"held      {_held_text(held)}")
    click.echo(f"hits      {found.hits} of {found.hits + found.misses}")
    click.echo(f"passed    {found.passed}, of which nothing was kept and nobody read anything")
    click.echo(f"saved     {seconds_text(found.saved_s)}")
    click.echo(f"lost      {seconds_text(found.lost_s)}, running again what had been evicted")
    click.echo(f"rejected  {found.rejected}")
    click.echo(f"evicted   {found.evicted}")
    click.echo(f"garbage   {_garbage_text(found.garbage)}")


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
    help="Keep files that were written so recently and that nobody gave up; less is for when "
    "nothing runs. What was evicted, or held by a deleted run, goes at once.",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing and say what would be.")
@click.option(
    "--sole-user",
    is_flag=True,
    help="The store that COULER_STORE_URL names serves no other database.",
)
@budget_options
@format_option
@session_options
@pass_session
def gc(
    session: Session,
    unused_for: timedelta,
    grace: timedelta,
    dry_run: bool,
    sole_user: bool,
    asked: AskedBudget,
    format_: str | None,
) -> None:
    """Remove entries that nobody uses, then files that nobody needs.

    If there is a budget, by an option or the settings, entries of least worth go until it is kept,
    as `couler cache ls --worth` shows them; what goes is told with its reason.
    Runs may go on meanwhile. Pinned entries stay, and so do files of runs that are still listed.
    Under a budget, what cached steps of succeeded runs made goes with their entries.
    """
    from couler.store import ObjectStore

    budget = asked.choose(session)
    with open_home(session, None) as (database, home):
        if home.store is not None and not (sole_user or dry_run):
            raise click.UsageError(
                f"the store {home.store} may serve other databases, whose files would be removed. "
                "Give --sole-user if it serves this one alone"
            )
        store = ObjectStore(home.store_url)
        latest = latest_course(database) if budget.is_limited else None
        judge = Judge(budget) if latest is None else Judge(budget, latest.course)
        cleaned = clean_cache(
            *(database, store, judge), unused_for=unused_for, grace=grace, dry_run=dry_run
        )
        pinned_bytes = stats_of_cache(database).pinned_bytes
    if session.settings.choose("format", format_, FORMATS) == "json":
        told = {"dry_run": dry_run, **_cleaned_json(cleaned), "pinned_bytes": pinned_bytes}
        echo_json({"schema_version": SCHEMA_VERSION, **told})
        return
    for line in _told(cleaned, budget, dry_run):
        click.echo(line)
    if (too_much := _pinned_text(budget, pinned_bytes)) is not None:
        click.echo(f"what is pinned takes {too_much}")


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="ENTRY...")
@session_options
@pass_session
def rm(session: Session, names: tuple[str, ...]) -> None:
    """Remove entries, so that their steps run again; pinned ones stay.

    Their files go when nobody needs them: with `couler cache gc`, or with what a run evicts.
    """
    with open_home(session, None) as (database, _):
        entries = _named(database, names)
        removed = remove_entries(database, [entry.key for entry in entries])
    for entry in entries:
        if entry.key in removed.keys:
            session.info(f"removed {_name(entry)}")
        elif entry.key in removed.pinned:
            session.info(f"kept {_name(entry)}, which is pinned")
        else:
            session.info(f"{_name(entry)} has just been removed")


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
        there = pin_entries(database, [entry.key for entry in entries], pinned=pinned)
    for entry in entries:
        if entry.key in there:
            session.info(f"{'pinned' if pinned else 'unpinned'} {_name(entry)}")
        else:
            session.info(f"{_name(entry)} has just been removed")


def _name(entry: Entry) -> str:
    return f"{entry.key[:_KEY_LETTERS]} {entry.workflow}/{entry.step}"


def _named(database: Database, names: Iterable[str]) -> list[Entry]:
    found = {entry.key: entry for name in names for entry in find_entries(database, name)}
    return list(found.values())


def _budget_text(budget: Budget, used_bytes: int) -> str:
    """Return what may be kept, how full that is, and who decides."""
    if not budget.is_limited:
        return "none: everything is kept"
    told = []
    if budget.total_bytes is not None:
        used = bytes_text(used_bytes)  # nothing is a share of nothing
        if budget.total_bytes:
            used = f"{used_bytes / budget.total_bytes:.0%}"
        told.append(f"{bytes_text(budget.total_bytes)}, {used} used")
    if budget.run_bytes is not None:
        told.append(f"{bytes_text(budget.run_bytes)} a run")
    return f"{', '.join(told)}, by {budget.name}"


def _limits_text(budget: Budget) -> str:
    """Return what may be kept in all, and of each run."""
    limits = [(budget.total_bytes, ""), (budget.run_bytes, " a run")]
    return " and ".join(f"{bytes_text(size)}{of}" for size, of in limits if size is not None)


def _pinned_text(budget: Budget, pinned_bytes: int) -> str | None:
    """Return what is pinned, and that it is too much for the budget; None if it is not."""
    if budget.total_bytes is None or pinned_bytes <= budget.total_bytes:
        return None
    return (
        f"{bytes_text(pinned_bytes)}, more than the budget of {bytes_text(budget.total_bytes)}: "
        "nothing else can be kept"
    )


def _held_text(held: Held) -> str:
    """Return what no budget bounds, and how to be rid of it."""
    if not held.held_runs:
        return "nothing outside of the entries"
    size = "files" if held.held_bytes is None else bytes_text(held.held_bytes)
    told = f"{size} outside of the entries by {counted(held.held_runs, 'run')}"
    if held.held_unsucceeded_runs:
        part = held.held_unsucceeded_bytes
        size = "some of them" if part is None else f"{bytes_text(part)} of it"
        have = "has" if held.held_unsucceeded_runs == 1 else "have"
        told += f", {size} by {held.held_unsucceeded_runs} that {have} not succeeded"
    return f"{told}; `couler delete RUN` frees what a run holds"


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


def _worths(session: Session, database: Database, budget: Budget) -> dict[str, float]:
    """Return what each entry is worth now, and say to which run."""
    latest = latest_course(database)
    judge, here = Judge(budget), ""
    if latest is not None:
        judge, here = Judge(budget, latest.course), latest.course.here
    with database.read() as connection:
        worths = judge.worths(read_ledger(connection), here)
    if latest is not None:
        session.info(f"worth to {_told_of(latest)}")
    return worths


def _told_of(latest: Latest) -> str:
    if not latest.is_under_way:
        return f"the run after {latest.run_id}, which used the cache last"
    here = latest.course.here
    at = f"has come to {here}" if here else "has come to no step with a cache yet"
    return f"{latest.run_id}, which {at}"


def _garbage_text(count: int) -> str:
    if not count:
        return "no files"
    return f"{counted(count, 'file')} that nobody needs; `couler cache gc` deletes them"


def _cleaned_json(cleaned: Cleaned) -> dict[str, object]:
    return {
        "evicted": len(cleaned.evicted),
        "evictions": [
            {
                "key": kept.key,
                "workflow": kept.workflow,
                "path": kept.path,
                "run_id": kept.run_id,
                "size_bytes": kept.size_bytes,
                "reason": reason,
            }
            for kept, reason in cleaned.evicted
        ],
        "entries": cleaned.unused,
        "objects": cleaned.objects,
        "size_bytes": cleaned.size_bytes,
        "waiting": cleaned.waiting,
        "temporary_files": cleaned.temporary_files,
        "kept_objects": cleaned.kept_objects,
    }


def _told(cleaned: Cleaned, budget: Budget, dry_run: bool) -> t.Iterator[str]:
    """Yield what was removed, and why."""
    if cleaned.unused:
        told = counted(cleaned.unused, "entry", "entries")
        verb = "would remove" if dry_run else "removed"
        whose = "its" if cleaned.unused == 1 else "their"
        yield f"{verb} {told}, unused for long or without {whose} files"
    if cleaned.evicted:
        told = counted(len(cleaned.evicted), "entry", "entries")
        size = bytes_text(sum(kept.size_bytes for kept, _ in cleaned.evicted))
        verb = "would evict" if dry_run else "evicted"
        yield f"{verb} {told} ({size}) for the budget of {_limits_text(budget)}"
        rows = [
            (
                f"  {kept.key[:_KEY_LETTERS]}",
                f"{kept.workflow}/{kept.path}",
                bytes_text(kept.size_bytes),
                reason,
            )
            for kept, reason in cleaned.evicted
        ]
        yield from aligned(rows)
    verb = "would delete" if dry_run else "deleted"
    yield f"{verb} {counted(cleaned.objects, 'file')} ({bytes_text(cleaned.size_bytes)})"
    if cleaned.waiting:
        yield f"{counted(cleaned.waiting, 'file')} more can go when the runs under way have ended"


command.add_command(_cache_sync.command, "sync")
