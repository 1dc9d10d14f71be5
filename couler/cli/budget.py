"""What the cache may keep: options of the commands that decide it, and settings."""

from __future__ import annotations

import functools
import math
import typing as t
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from couler.cli.session import Session
from couler.errors import ConfigurationError, EngineOptionError
from couler.ir.quantity import parse_bytes

if t.TYPE_CHECKING:
    from couler.budget.judging import Budget


class SizeType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """A size such as `20GB`, in bytes, as a function reads it."""

    name = "size"

    def __init__(self, read: Callable[[str], int] = parse_bytes) -> None:
        self._read = read

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Read the size."""
        if isinstance(value, int):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class FiniteRange(click.FloatRange):
    """A number within bounds, which infinity and what is no number are not."""

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> t.Any:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


class PolicyType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """A policy with its options; completed from the entry points."""

    name = "policy"

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Check that there is such a policy."""
        from couler.caching.registry import read_policy

        try:
            read_policy(value)
        except EngineOptionError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the installed policies that begin so."""
        from couler.caching.registry import policy_names

        return [CompletionItem(name) for name in policy_names() if name.startswith(incomplete)]


BUDGET_OPTIONS = (
    click.option(
        "--cache-budget",
        type=SizeType(),
        metavar="SIZE",
        help="What the cache may take on the disk, such as 20GB; any amount by default.",
    ),
    click.option(
        "--cache-run-budget",
        type=SizeType(),
        metavar="SIZE",
        help="What it may keep of one run.",
    ),
    click.option(
        "--cache-policy",
        type=PolicyType(),
        metavar="NAME",
        help="What stays in the cache if not all fits, such as next-use, the default, or lru.",
    ),
)


def choose_size(session: Session, name: str, flag: int | None) -> int | None:
    """Return the bytes that a flag or a setting tells."""
    text = session.settings.get(name)
    if flag is not None or text is None:
        return flag
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise session.settings.refusal(name, "a size such as 20GB or 64Mi") from error


def choose_policy(session: Session, flag: str | None) -> str | None:
    """Return the policy that a flag or a setting names."""
    text = session.settings.get("cache.policy")
    if flag is not None or text is None:
        return flag
    from couler.caching.registry import read_policy

    try:
        read_policy(text)
    except (ConfigurationError, EngineOptionError) as error:
        raise ConfigurationError(f"{session.settings.origin('cache.policy')}: {error}") from error
    return text


def budget_options(command: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    """Add the options that say what the cache may keep; the command gets them as `asked`."""

    @functools.wraps(command)
    def call(
        *args: t.Any,
        cache_budget: int | None,
        cache_run_budget: int | None,
        cache_policy: str | None,
        **others: t.Any,
    ) -> t.Any:
        asked = AskedBudget(cache_budget, cache_run_budget, cache_policy)
        return command(*args, asked=asked, **others)

    for option in reversed(BUDGET_OPTIONS):
        call = option(call)
    return call


class AskedBudget(t.NamedTuple):
    """What the flags of a command say of the cache; None where they say nothing."""

    total_bytes: int | None
    run_bytes: int | None
    policy: str | None

    def choose(self, session: Session) -> Budget:
        """Return what the flags, and else the settings, let the cache keep."""
        from couler.budget.judging import Budget

        return Budget.choose(
            choose_policy(session, self.policy),
            choose_size(session, "cache.budget", self.total_bytes),
            choose_size(session, "cache.run-budget", self.run_bytes),
        )
