"""`couler compile`: a workflow as files for an engine."""

from __future__ import annotations

import difflib
import hashlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import click

from couler import __version__
from couler.backends.base import Artifact
from couler.cli._options import (
    PassFlags,
    choose_engine,
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
from couler.cli.session import Session, pass_session, session_options, writing
from couler.errors import ConfigurationError, EngineError, fold
from couler.ir.artifacts import repository_key
from couler.ir.workflow import Workflow
from couler.stages.artifacts import compile
from couler.stages.planning import plan as plan_workflow

_HEADER = re.compile(r"\A# Workflow .*, compiled from .* by couler .*\n")


@click.command()
@file_argument
@engine_option
@target_option
@output_option("File to write, or a folder where the engine needs several files")
@engine_version_option
@profile_option
@namespace_option
@engine_settings_option
@storage_option
@passes_option
@cluster_option
@click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    help="Format of the files: for most engines yaml (default) or json, for airflow python.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing: compare the files of -o with what FILE gives, print the differences, "
    "and end with exit code 1 if there are any.",
)
@session_options
@pass_session
def command(
    session: Session,
    file: Source,
    engine: str | None,
    target_name: str | None,
    output: str | None,
    engine_version: str | None,
    profile: str | None,
    namespace: str | None,
    options: tuple[str, ...],
    passes: PassFlags,
    cluster_file: Path | None,
    format_: str | None,
    storages: tuple[str, ...],
    check: bool,
) -> None:
    """Turn a workflow into files for an engine.

    The same workflow gives the same files, byte for byte. Needs no cluster and no server.
    """
    if check and output in (None, "-"):
        raise click.UsageError("--check compares files: give -o FILE or -o FOLDER")
    if target_name is None:
        engine = choose_engine(session, engine)
    engine, target = engine_and_target(
        *(session, engine, target_name),
        profile=profile,
        engine_version=engine_version,
        namespace=namespace,
        options=options,
        storages=storages,
    )
    plan = plan_workflow(
        load(file),
        engine=engine,
        target=target,
        passes=passes_of(session, passes, target_name),
        cluster=machines_of(session, cluster_file, file),
    )
    for record in plan.log.records:
        session.detail(f"pass {record.name}: {record.seconds:.3f} s. {record.reason}".rstrip())
    for warning, more in fold(plan.diagnostics):
        session.info(f"{warning}\n{more}" if more else str(warning))
    assert engine is not None, "it was planned for an engine"
    assert plan.backend is not None
    format_ = session.settings.choose("format", format_, plan.backend.formats)
    artifact = compile(plan, engine, format=format_)
    session.detail(f"{plan.workflow.name} for {engine}: {_sizes(artifact)}")
    if output is None or output == "-":
        _print(artifact)
    else:
        has_comments = format_ in ("yaml", "python")
        header = _header(plan.workflow, file, engine) if has_comments else ""
        with writing("-o", output):
            files = _files(artifact, output, header)
            if check:
                _compare(files)
                return
            _write(session, files, output)
    if plan.workflow.code_at is not None:
        _write_code(session, plan.workflow, output)
    for note in artifact.notes:
        session.info(f"note: {note}")


def _sizes(artifact: Artifact) -> str:
    return ", ".join(f"{file.name} of {len(file.text.encode()):,} bytes" for file in artifact.files)


def _print(artifact: Artifact) -> None:
    if len(artifact.files) > 1:
        names = ", ".join(file.name for file in artifact.files)
        raise click.UsageError(
            f"{artifact.engine} needs {len(artifact.files)} files ({names}): give -o FOLDER"
        )
    if sys.__stdout__ is None:
        raise ConfigurationError("standard output is closed. Give -o FILE, or /dev/null for it")
    click.echo(artifact.to_text(), nl=not artifact.to_text().endswith("\n"))


def _header(workflow: Workflow, source: Source, engine: str) -> str:
    """Return the line that says what a file was made from."""
    made_from = str(source)
    if source.path != "-":
        digest = hashlib.sha256(Path(source.path).read_bytes()).hexdigest()[:12]
        made_from = f"{Path(source.path).name} (SHA-256 {digest})"
    made_by = f"couler {__version__} for {engine}"
    return f"# Workflow {workflow.name}, compiled from {made_from} by {made_by}.\n"


def _files(artifact: Artifact, output: str, header: str) -> dict[Path, str]:
    """Return the files to write with their texts."""
    into = Path(output)
    if len(artifact.files) == 1 and not into.is_dir() and not output.endswith("/"):
        return {into: header + artifact.to_text()}
    return {
        into / _inside(artifact.engine, file.name): header + file.text for file in artifact.files
    }


def _write(session: Session, files: Mapping[Path, str], output: str) -> None:
    for path, text in files.items():
        if path != Path(output):
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        session.detail(f"wrote {path}")


def _compare(files: Mapping[Path, str]) -> None:
    """Print how files differ from texts, but for their headers."""
    is_same = True
    for path, text in files.items():
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        old, new = (_HEADER.sub("", one).splitlines(keepends=True) for one in (there, text))
        for line in difflib.unified_diff(old, new, str(path), "what the source gives"):
            click.echo(line.rstrip("\n"))
            is_same = False
    if not is_same:
        raise click.exceptions.Exit(1)


def _write_code(session: Session, workflow: Workflow, output: str | None) -> None:
    """Write the archive of the code beside the file, and print the command that uploads it."""
    from couler.locations.code import code_archive, upload_command

    assert workflow.code_at is not None
    if output is None or output == "-":
        session.info("note: -o FILE writes the archive of the code beside the file")
        return
    into = Path(output)
    folder = into if into.is_dir() else into.parent
    file = folder / PurePosixPath(str(repository_key(workflow.code_at))).name
    with writing("-o", output):
        file.write_bytes(code_archive(workflow))
    click.echo(upload_command(workflow.code_at, file))


def _inside(engine: str, name: str) -> PurePosixPath:
    """Return a file's name as a path that cannot leave its folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise EngineError(f"{engine} names a file outside the folder: {name!r}")
    return path
