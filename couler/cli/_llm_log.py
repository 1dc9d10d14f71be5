"""Calls of language models, as people read them."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Sequence

from couler.cli.format import aligned

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
        str(len(call["retries"])),
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
    for retry in call["retries"]:
        yield f"  retried after {retry['wait_s']:g} s: {shown(retry['reason'])}"
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
