"""What `couler tune` writes and shows."""

from __future__ import annotations

import contextlib
import json
import os
import typing as t
from pathlib import Path

import click

from couler.cli._format import aligned
from couler.cli._session import Session
from couler.errors import ConfigurationError

if t.TYPE_CHECKING:
    from couler.cli._llm import LlmFlags
    from couler.tuning.outcome import Candidate, Outcome


def check_place(output: Path) -> None:
    """Refuse a place that cannot be written, before there is anything to write."""
    if not output.parent.is_dir():
        raise click.UsageError(f"-o {output}: there is no folder {output.parent}")
    if output.exists() and not output.is_file():
        raise click.UsageError(f"-o {output}: it is no file. Leave -o out for standard output")
    begun = _beside(output)
    try:
        begun.touch()
        begun.unlink()
    except OSError as error:
        raise click.UsageError(f"-o {output} cannot be written: {error.strerror}") from error


def write_whole(output: Path, text: str) -> None:
    """Write a file at once: until all is written, what was there before stays."""
    begun = _beside(output)
    try:
        begun.write_text(text, encoding="utf-8")
        begun.replace(output)
    except OSError as error:
        raise ConfigurationError(f"-o {output} cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            begun.unlink(missing_ok=True)


def _beside(output: Path) -> Path:
    """Return where a file is written before it takes its place."""
    return output.with_name(f".{output.name}.{os.getpid()}")


def show_outcome(session: Session, outcome: Outcome, format_: str) -> None:
    """Print an outcome."""
    from couler.tuning.algorithm4 import as_text

    if format_ == "json":
        click.echo(outcome.to_json_text(), nl=False)
        return
    metric = outcome.metric
    click.echo(f"chosen: {outcome.chosen} {as_text(outcome.parameters)}")
    click.echo(f"why: {outcome.why}")
    if outcome.best.reason:
        click.echo(f"the model says: {one_line(outcome.best.reason)}")
    click.echo()
    is_trained = any(one.real is not None for one in outcome.candidates)
    head = ("candidate", "round", "found", f"predicted {metric.name}")
    more = (f"real {metric.name}", "from, to") if is_trained else ()
    rows = [
        (*_predicted(one), *(_real(one) if is_trained else ()), as_text(one.parameters))
        for one in outcome.candidates
    ]
    for line in aligned((((*head, *more, "hyperparameters")), *rows)):
        click.echo(line)
    if outcome.not_trained_on:
        told = one_line(", ".join(outcome.not_trained_on))
        click.echo(f"not trained on, as they hold no numbers: {told}")
    if outcome.missing:
        click.echo(f"missing: {one_line(outcome.missing)}")
    for one in outcome.candidates:
        if one.problems:
            click.echo(f"{one.name} left out: {one_line('; '.join(one.problems))}")
        if one.real is not None and one.real.problem is not None:
            click.echo(f"{one.name} not trained: {one_line(one.real.problem)}")
    if is_trained:
        correlation, count = outcome.rank_correlation
        told = "not defined" if correlation is None else f"{correlation:.2f}"
        click.echo(f"rank correlation of predicted and real (Spearman): {told}, n = {count}")


def add_notes(error: BaseException, outcome: Outcome, output: Path | None, flags: LlmFlags) -> None:
    """Say beside an interrupt what there is, and how to go on with it."""
    if outcome.missing:
        error.add_note(f"the outcome is not whole: {one_line(outcome.missing)}")
    else:
        error.add_note("training has not ended: the choice is that of what was predicted")
    if output is not None:
        error.add_note(f"{output} has it, for -p @{output} and the pass tune")
    if flags.record is not None:
        error.add_note(
            f"--replay {flags.record}, in place of --record, answers from what is paid already"
        )
    elif flags.replay is None:
        error.add_note("`couler llm log` has what was answered; the same command asks for it anew")


def _predicted(one: Candidate) -> tuple[str, ...]:
    value = "-" if one.predicted is None else f"{one.predicted:.4g}"
    return (one.name, str(one.round), one.origin, value)


def _real(one: Candidate) -> tuple[str, ...]:
    if one.real is None or one.real.mean is None:
        return ("-", "-")
    low, high = min(one.real.scores), max(one.real.scores)
    return (f"{one.real.mean:.4g}", f"{low:.4g}, {high:.4g}")


def one_line(text: str) -> str:
    """Return text of others in a line, without what could drive a terminal."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)[1:-1][:500]
