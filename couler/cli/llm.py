"""`couler llm`: the endpoint of language models, and the log of calls."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from couler.cli.format import aligned, echo_json
from couler.cli.language_model import (
    LlmFlags,
    found_settings,
    llm_options,
    log_folder,
    opened_model,
)
from couler.cli.runs import FORMATS, format_option, home_option
from couler.cli.session import Session, pass_session, session_options
from couler.errors import ConfigurationError
from couler.hidden import escaped
from couler.stages import SCHEMA_VERSION


@click.group()
@session_options
def command() -> None:
    """Check an endpoint of language models, and show the log of calls."""


@command.command()
@llm_options
@format_option
@session_options
@pass_session
def check(session: Session, llm: LlmFlags, format_: str | None) -> None:
    """Show the settings, make two tiny calls, and find out how structured answers are requested.

    The key is not shown, only where it comes from.
    """
    from couler.cli._llm_check import check_endpoint, rows_of, settings_json

    found = found_settings(session, llm)
    is_json = session.settings.choose("format", format_, FORMATS) == "json"
    if not is_json:
        for line in aligned(rows_of(found)):
            click.echo(line)
    with opened_model(session, llm, "check", found=found) as model:
        outcome = check_endpoint(model)
    if is_json:
        report = {
            "schema_version": SCHEMA_VERSION,
            "settings": settings_json(found),
            **outcome.to_json(),
        }
        echo_json(report)
        return
    for line in outcome.lines(found.settings):
        click.echo(line)


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--prompt", metavar="NAME", help="Only calls of that prompt.")
@click.option("-b", "--brief", is_flag=True, help="A line for each call.")
@home_option
@format_option
@session_options
@pass_session
def log(
    session: Session,
    file: Path | None,
    prompt: str | None,
    brief: bool,
    home: Path | None,
    format_: str | None,
) -> None:
    """Show the calls of a log: what was asked, answered and spent.

    FILE is by default the latest log.
    """
    from couler.llm.call_log import read_log

    file = file or _latest(log_folder(session, home))
    calls = [one for one in read_log(file) if prompt in (None, one["prompt"]["name"])]
    session.info(f"{file}: {len(calls)} call{'s' * (len(calls) != 1)}")
    if session.settings.choose("format", format_, FORMATS) == "json":
        report = {"schema_version": SCHEMA_VERSION, "file": str(file), "calls": calls}
        click.echo(escaped(json.dumps(report, ensure_ascii=False, indent=2)))
    elif brief:
        for line in brief_lines(calls):
            click.echo(line)
    else:
        click.echo(full_text(calls), nl=False)


def _latest(folder: Path) -> Path:
    logs = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    if not logs:
        raise ConfigurationError(
            f"there is no log of language models in {folder}: none has been asked yet. A log "
            "elsewhere is named as FILE, or its folder by --home"
        )
    return logs[-1]


Call: t.TypeAlias = dict[str, t.Any]

_INDENT = "    "


def brief_lines(calls: Sequence[Call]) -> list[str]:
    """Return a line for each call, below a line of titles."""
    titles = ("time", "prompt", "turn", "status", "took", "tokens", "retries", "outcome")
    return aligned([titles, *map(_row, calls)])


def full_text(calls: Sequence[Call]) -> str:
    """Return all calls with their messages and answers."""
    return "\n".join("\n".join(_lines(n, one)) + "\n" for n, one in enumerate(calls, start=1))


def _row(call: Call) -> tuple[str, ...]:
    outcome = call["error"] or call.get("finish_reason") or "answered"
    return (
        call["time"][:19].replace("T", " "),
        _name(call),
        str(_turn(call)),
        str(call["status"] or "-"),
        f"{call['seconds']:.1f} s",
        _tokens(call),
        str(call["retries"]),
        shown(" ".join(outcome.split()))[:80],
    )


def _lines(number: int, call: Call) -> Iterator[str]:
    asked = f", form {call['schema']} by {call['structured']}" if call["structured"] else ""
    chosen = "".join(
        f", {name} {call[name]}" for name in ("temperature", "seed") if call[name] is not None
    )
    yield (
        f"{number}. {_name(call)}, turn {_turn(call)}, model {call['model']}{asked}{chosen}  "
        f"({call['time'][:19].replace('T', ' ')} UTC)"
    )
    for message in call["messages"]:
        yield f"  {message['role']}:"
        yield from _indented(message["content"])
    if call["retries"]:
        yield f"  retries: {call['retries']}"
    if call["answer"] is not None:
        yield f"  answer ({call.get('finish_reason') or 'no reason'}):"
        yield from _indented(call["answer"])
    if call["error"]:
        yield "  error:"
        yield from _indented(call["error"])
    yield f"  status {call['status'] or '-'}, {call['seconds']:.1f} s, {_tokens(call)}"


def _name(call: Call) -> str:
    return shown(f"{call['prompt']['name']} v{call['prompt']['version']}")


def _turn(call: Call) -> int:
    return 1 + [one["role"] for one in call["messages"]].count("assistant")


def _tokens(call: Call) -> str:
    usage = call.get("usage")
    if usage is None:
        return "no tokens"
    about = "about " if usage["estimated"] else ""
    return f"{about}{usage['prompt_tokens']:,} + {usage['completion_tokens']:,} tokens"


def _indented(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"{_INDENT}{shown(line)}".rstrip()


def shown(text: str) -> str:
    r"""Return text of others so that no character of it drives a terminal."""
    return "".join(one if one.isprintable() or one == "\t" else repr(one)[1:-1] for one in text)
