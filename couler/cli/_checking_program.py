"""`couler generate --check`: a program of somebody else, checked as if a model had written it."""

from __future__ import annotations

import json
import sys
import textwrap
import typing as t
from collections.abc import Mapping
from dataclasses import replace

import click

from couler.backends.base import Target
from couler.cli._diagnostics import text_lines
from couler.cli.session import Session
from couler.hidden import clean
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef
from couler.ir.wording import counted
from couler.stages import SCHEMA_VERSION, diagnose

if t.TYPE_CHECKING:
    from couler.box import Built
    from couler.box.review import Review, ReviewedStep

_MOST_BYTES = 1 << 20


def check_file(session: Session, path: str, format_: str, targets: Mapping[str, Target]) -> None:
    """Check the program of a file, also for some engines, and say what came of it."""
    from couler.box import Built, build_program
    from couler.box.review import review

    file = "<stdin>" if path == "-" else path
    with click.open_file(path, "rb") as opened:
        content = opened.read(_MOST_BYTES)
    try:
        built = build_program(content.decode("utf-8-sig"), file=file)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"the program is no text in UTF-8: byte 0x{content[error.start]:02x}"
        found = Diagnostic("CLR601", message, source=SourceRef(file=file, line=line))
        built = Built(None, (found,))
    if built.is_sound and built.workflow is not None:
        for engine, target in targets.items():
            found_there = diagnose(built.workflow, [engine], target=target)
            seen = dict.fromkeys((*built.diagnostics, *found_there))
            built = replace(built, diagnostics=tuple(seen))
    told = None if built.workflow is None else review(built.workflow)
    if format_ == "json":
        _echo_json(file, built, told)
    else:
        _echo_text(session, built, told)
    if not built.is_sound:
        click.get_current_context().exit(1)


def _echo_json(file: str, built: Built, told: Review | None) -> None:
    tree = {
        "schema_version": SCHEMA_VERSION,
        "file": file,
        "workflow": None if told is None else told.name,
        "is_sound": built.is_sound,
        "seconds": round(built.seconds, 3),
        "diagnostics": [one.to_json() for one in built.diagnostics],
        "steps": [] if told is None else [_step_json(one) for one in told.steps],
        "images": [] if told is None else list(told.images),
        "reaches": [] if told is None else list(told.reaches),
        "printed": built.output,
    }
    click.echo(json.dumps(tree, indent=2))  # in ASCII: nothing of it can move a cursor


def _step_json(step: ReviewedStep) -> dict[str, t.Any]:
    return {
        "path": step.path,
        "kind": step.kind,
        "after": list(step.after),
        "image": step.image,
        "command": list(step.command),
        "source": step.source,
        "packages": list(step.packages),
        "line": step.line,
    }


def _echo_text(session: Session, built: Built, told: Review | None) -> None:
    for line in text_lines(session, built.diagnostics):
        click.echo(clean(line) if not session.has_colour(sys.stdout) else line)
    if told is not None and built.is_sound:
        for line in _lines(told):
            click.echo(clean(line).replace("\n", "\ufffd"))  # no text of it makes a line
    errors = sum(one.severity == "error" for one in built.diagnostics)
    warnings = len(built.diagnostics) - errors
    session.info(
        f"{counted(errors, 'error')}, {counted(warnings, 'warning')}; built in "
        f"{built.seconds:.2f} s behind walls"
        if built.seconds
        else f"{counted(errors, 'error')}, {counted(warnings, 'warning')}; nothing was run"
    )


def _lines(told: Review) -> t.Iterator[str]:
    """Yield what a user should look at."""
    yield f"workflow {told.name}: {counted(len(told.steps), 'step')}"
    for step in told.steps:
        after = f"  <- {', '.join(step.after)}" if step.after else ""
        image = f" {step.image}" if step.image else ""
        yield f"  {step.path}  {step.kind}{image}{after}"
    yield ""
    yield "Look at this before it runs:"
    yield f"  images: {', '.join(told.images) or 'none'}"
    for text in told.reaches:
        yield f"  {text}"
    for step in told.steps:
        if step.source is not None:
            packages = f", with {', '.join(step.packages)}" if step.packages else ""
            yield f"  {step.path} runs this by {_words(step.command)}{packages}:"
            yield from textwrap.indent(step.source.rstrip("\n"), "    | ").split("\n")
        elif step.command:
            yield f"  {step.path} runs {_words(step.command)}"


def _words(words: t.Sequence[str]) -> str:
    return json.dumps(list(words), ensure_ascii=False)
