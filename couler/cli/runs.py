"""The runs that are kept on this machine, as commands name and find them."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from couler import state
from couler.cli.session import Session
from couler.errors import CoulerError

if t.TYPE_CHECKING:
    from couler.ir.policies import Profile
    from couler.optimizers.base import Timed
    from couler.stages.history import EarlierRuns
    from couler.state import Database, Home, RunRecord

_COMPLETED = 50
"""How many runs a shell offers."""

home_option = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder in which runs are kept; by default that of COULER_HOME, else the user's own.",
)

FORMATS = ("text", "json")

format_option = click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="How to show it."
)


class RunType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """The name of a run; completed from the latest ones."""

    name = "run"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the latest runs that begin so; nothing where none can be read."""
        try:
            home = find_home(ctx.ensure_object(Session), ctx.params.get("home"))
            if not _has_database(home):
                return []
            with state.open_database(home.database_url) as database:
                runs = state.list_runs(database, limit=_COMPLETED)
        except (CoulerError, OSError):  # a shell that completes has no place for a message
            return []
        return [
            CompletionItem(run.id, help=run.status) for run in runs if run.id.startswith(incomplete)
        ]


run_argument = click.argument("run", type=RunType(), metavar="RUN")


def chosen_home(session: Session, flag: Path | None) -> Path | None:
    """Return the folder that a flag or a setting names."""
    if flag is not None:
        return flag
    text = session.settings.get("home")
    return None if text is None else Path(os.path.expanduser(text))


def find_home(session: Session, flag: Path | None) -> Home:
    """Return where runs are kept."""
    chosen = chosen_home(session, flag)
    named = {} if chosen is None else {"COULER_HOME": os.path.abspath(chosen)}
    return state.Home.find({**session.environment, **named})


@contextmanager
def open_home(session: Session, flag: Path | None) -> Iterator[tuple[Database, Home]]:
    """Open the database in which runs are kept."""
    home = find_home(session, flag)
    with state.open_database(home.database_url) as database:
        yield database, home


@contextmanager
def open_existing(session: Session, flag: Path | None) -> Iterator[tuple[Database, Home] | None]:
    """Open the database in which runs are kept; give None, and make none, if there is none."""
    if not _has_database(find_home(session, flag)):
        yield None
        return
    with open_home(session, flag) as found:
        yield found


def history_of(session: Session, flag: Path | None) -> EarlierRuns:
    """Return what tells of earlier runs; the database is opened when it is first asked."""
    from couler.stages.history import EarlierRuns, earlier_runs

    def profiles(workflow: str, engine: str | None) -> Mapping[str, Profile]:
        with open_existing(session, flag) as found:
            return {} if found is None else earlier_runs(*found).profiles(workflow, engine)

    def timings() -> Sequence[Timed]:
        with open_existing(session, flag) as found:
            return () if found is None else earlier_runs(*found).timings()

    return EarlierRuns(profiles, timings)


def _has_database(home: Home) -> bool:
    return home.database is not None or (home.root / "couler.db").is_file()


def folder_of(run: RunRecord, home: Home) -> Path:
    """Return the folder of a run."""
    return Path(run.folder) if run.folder else home.run_folder(run.id)
