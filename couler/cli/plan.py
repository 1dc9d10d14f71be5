"""`couler plan`: what the passes did, and why, and the workflow between them as files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from couler import stages
from couler.cli._options import (
    PassFlags,
    cluster_option,
    engine_and_target,
    engine_option,
    engine_settings_option,
    engine_version_option,
    file_argument,
    machines_of,
    namespace_option,
    output_option,
    passes_of,
    passes_option,
    profile_option,
    storage_option,
    target_option,
)
from couler.cli.load import Source, load
from couler.cli.runs import history_of, home_option
from couler.cli.session import Session, pass_session, session_options, writing
from couler.ir.serialize import write_json
from couler.ir.workflow import Workflow
from couler.optimizers.estimate import Prices
from couler.optimizers.pipeline import PassRecord

FORMATS = ("text", "json")
PICTURES = ("svg", "mermaid", "dot", "html")
TASKS = ("pddl",)


@click.command()
@file_argument
@engine_option
@target_option
@engine_version_option
@profile_option
@namespace_option
@engine_settings_option
@storage_option
@passes_option
@cluster_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report.")
@click.option(
    "--as",
    "as_",
    type=click.Choice(PICTURES),
    help="Draw the workflow before and after the passes instead; html has the report as well.",
)
@click.option(
    "--emit",
    type=click.Choice(TASKS),
    help="Write the planning task of the pass group instead; with -o into a folder.",
)
@click.option(
    "--dump",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the workflow before the first pass and after each into a folder, as JSON.",
)
@output_option("File to write")
@home_option
@session_options
@pass_session
def command(
    session: Session,
    file: Source,
    engine: str | None,
    target_name: str | None,
    engine_version: str | None,
    namespace: str | None,
    options: tuple[str, ...],
    profile: str | None,
    passes: PassFlags,
    cluster_file: Path | None,
    format_: str | None,
    as_: str | None,
    emit: str | None,
    dump: Path | None,
    output: str | None,
    home: Path | None,
    storages: tuple[str, ...],
) -> None:
    """Show what the passes did to a workflow, and why.

    Then come the overrides that the program gives the engine, which are merged in last. Sizes are
    those of the workflow as compact JSON; seconds, memory and cost are estimated from what the
    steps say of themselves and, from the pass place on, from the machines that it chose. Passes
    may ask what earlier runs took. What the engine refuses comes below the plan, with the exit code
    of compile.
    """
    if as_ is not None and format_ is not None:
        raise click.UsageError("--as draws a picture, --format reports: give one of them")
    if emit is not None and (as_ is not None or format_ is not None):
        raise click.UsageError("--emit writes a planning task, and neither draws nor reports")
    if target_name is None:
        engine = session.settings.engine(engine)
    engine, target = engine_and_target(
        *(session, engine, target_name),
        profile=profile,
        engine_version=engine_version,
        namespace=namespace,
        options=options,
        storages=storages,
    )
    prices = session.settings.prices
    dumped = None if dump is None else Dump(dump)
    plan = stages.plan(
        load(file),
        engine=engine,
        target=target,
        passes=passes_of(session, passes, target_name),
        on_pass=dumped,
        prices=Prices(**prices) if prices else None,
        keep_refusal=True,
        history=history_of(session, home),
        cluster=machines_of(session, cluster_file, file),
    )
    if dumped is not None:
        dumped.finish(plan.source)
        session.info(f"wrote {dumped.count} files into {dump}")
        if older := dumped.older_files():
            session.info(f"note: {dump} has {', '.join(older)} of an earlier plan")
    if emit is not None:
        _emit(session, plan, output)
        return
    if as_ is not None:
        text = stages.picture_plan(plan, as_)
    elif session.settings.choose("format", format_, FORMATS) == "json":
        text = json.dumps(plan.to_json(), ensure_ascii=False, indent=2)
    else:
        text = plan.to_text()
    _write(session, text, output)
    if plan.refusal is not None:
        sys.stdout.flush()  # what is refused comes below the plan, where both are one stream
        raise plan.refusal


def _emit(session: Session, plan: stages.Plan, output: str | None) -> None:
    """Write the planning task of the pass `group`: into a folder, or one file after the other."""
    from couler.stages.planning_tasks import planning_tasks

    texts = planning_tasks(plan)
    if output is None or output == "-":
        click.echo("\n".join(f"; {name}\n{text}" for name, text in texts.items()), nl=False)
        return
    folder = Path(output)
    with writing("-o", output):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    session.info(f"wrote {', '.join(texts)} into {output}")


def _write(session: Session, text: str, output: str | None) -> None:
    if output is None or output == "-":
        click.echo(text)
        return
    with writing("-o", output):
        Path(output).write_text(text + "\n", encoding="utf-8")
    session.detail(f"wrote {output}")


_OURS = re.compile(r"\d{2,}-[\w.-]+\.json")


class Dump:
    """Writes the workflow after each pass; a pipeline calls it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: list[str] = []
        with writing("--dump", folder):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def count(self) -> int:
        """How many files were written."""
        return len(self._written)

    def __call__(self, record: PassRecord) -> None:
        """Write what a pass made; before the first one, what it was given."""
        if not self._written:
            self._write("source", record.before)
        self._write(record.name, record.after)

    def finish(self, source: Workflow) -> None:
        """Write the workflow where no pass ran."""
        if not self._written:
            self._write("source", source)

    def older_files(self) -> list[str]:
        """Return the names of files like these that were there before."""
        names = (path.name for path in self._folder.iterdir() if _OURS.fullmatch(path.name))
        return sorted(set(names) - set(self._written))

    def _write(self, name: str, workflow: Workflow) -> None:
        file = f"{len(self._written):02}-{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.json"
        with writing("--dump", self._folder):
            (self._folder / file).write_text(write_json(workflow) + "\n", encoding="utf-8")
        self._written.append(file)
