"""Options of commands that ask language models, and the model that these and the settings name."""

from __future__ import annotations

import functools
import os
import typing as t
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from couler.cli.runs import find_home
from couler.cli.session import Session

if t.TYPE_CHECKING:
    from couler.llm import Usage
    from couler.llm.client import OpenedModel
    from couler.llm.reading import FoundSettings

LOGS = "llm"
"""The folder of logs of language models, in the folder in which runs are kept."""


@dataclass(frozen=True, slots=True)
class LlmFlags:
    """What the options of `llm_options` say; None for what is not given."""

    model: str | None = None
    base_url: str | None = None
    max_tokens_total: int | None = None
    max_cost: float | None = None
    record: Path | None = None
    replay: Path | None = None


def llm_options(command: Callable[..., t.Any]) -> Callable[..., t.Any]:
    """Add the options that choose a language model and its budget; they come as `llm: LlmFlags`."""
    file = click.Path(dir_okay=False, path_type=Path)

    @functools.wraps(command)
    def called(*arguments: t.Any, **options: t.Any) -> t.Any:
        names = ("model", "base_url", "max_tokens_total", "max_cost", "record", "replay")
        flags = LlmFlags(**{name: options.pop(f"llm_{name}") for name in names})
        return command(*arguments, llm=flags, **options)

    for name, kind, metavar, text in reversed(
        (
            ("model", str, "NAME", "The language model, as its endpoint calls it."),
            ("base-url", str, "URL", "Address of the endpoint, up to /chat/completions."),
            ("max-tokens-total", int, "N", "The most tokens that all calls may take."),
            ("max-cost", float, "AMOUNT", "The most that all calls may cost, at stated prices."),
            ("record", file, "FILE", "Write all requests and answers to a new file."),
            ("replay", file, "FILE", "Answer from such a file; nothing is asked of an endpoint."),
        )
    ):
        option = click.option(
            f"--{name}", f"llm_{name.replace('-', '_')}", type=kind, metavar=metavar, help=text
        )
        called = option(called)
    return called


def found_settings(session: Session, flags: LlmFlags) -> FoundSettings:
    """Return the settings of the language model, and where each comes from."""
    from couler.llm.reading import NAMES, find_settings

    settings = session.settings
    stated = {
        name: settings.values[f"llm.{name}"] for name in NAMES if f"llm.{name}" in settings.values
    }
    for name in ("model", "base-url", "max-tokens-total", "max-cost"):
        value = getattr(flags, name.replace("-", "_"))
        if value is not None:
            stated[name] = (str(value), f"--{name}")
    return find_settings(stated, session.environment, settings.llm_prices)


def log_folder(session: Session, home: Path | None = None) -> Path:
    """Return the folder of the logs of language models."""
    return find_home(session, home).root / LOGS


@contextmanager
def opened_model(
    session: Session,
    flags: LlmFlags,
    purpose: str,
    *,
    found: FoundSettings | None = None,
    home: Path | None = None,
    tells_usage: bool = False,
) -> Iterator[OpenedModel]:
    """Open the language model of the settings for a command, and tell where its log is."""
    from couler.llm import LlmSettings, open_model

    if flags.replay is not None and flags.record is None:
        with open_model(LlmSettings(), replay=flags.replay) as model:
            yield model
        return
    found = found or found_settings(session, flags)
    now = datetime.now(UTC)
    name = f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03}-{purpose}-{os.getpid()}.jsonl"
    log = log_folder(session, home) / name
    with open_model(
        found.settings, log=log, record=flags.record, replay=flags.replay, tell=session.info
    ) as model:
        session.detail(f"calls of the language model are logged to {log}")
        try:
            yield model
        finally:
            if model.usage.calls:
                tell = session.info if tells_usage else session.detail
                tell(usage_text(model.usage, found.settings.currency))


def usage_text(usage: Usage, currency: str) -> str:
    """Return what calls took, in a line."""
    calls = f"{usage.calls} call{'s' * (usage.calls != 1)}"
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    if usage.estimated_calls:
        tokens += " (partly estimated)"
    cost = "price not known" if usage.cost is None else f"{usage.cost:.6g} {currency}"
    return f"language model: {calls}, {tokens}, {usage.seconds:.1f} s, {cost}"
