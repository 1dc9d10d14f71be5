"""Options of the commands that run workflows on this machine."""

from __future__ import annotations

import functools
import math
import os
import typing as t
from collections.abc import Callable
from pathlib import Path

import click

from couler.backends.base import RUNTIMES, RunOptions, RuntimeName
from couler.cli.budget import BUDGET_OPTIONS, FiniteRange, SizeType, choose_policy, choose_size
from couler.cli.runs import chosen_home, home_option
from couler.cli.session import Session
from couler.ir.quantity import bounded, parse_quantity

param_option = click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the workflow, read as its declared type, or @FILE with several; can be "
    "given several times.",
)


def _memory_bytes(text: str) -> int:
    """Read a size of memory such as `8Gi`."""
    return bounded(math.ceil(parse_quantity(text)))


def run_options(command: Callable[..., t.Any]) -> Callable[..., t.Any]:
    """Add the options that say how to run; the command gets them as `options`."""

    @functools.wraps(command)
    def call(
        *args: t.Any,
        home: Path | None,
        jobs: int | None,
        cpus: float | None,
        memory: int | None,
        gpus: int | None,
        runtime: RuntimeName | None,
        no_cache: bool,
        cache_budget: int | None,
        cache_run_budget: int | None,
        cache_policy: str | None,
        **others: t.Any,
    ) -> t.Any:
        session = click.get_current_context().ensure_object(Session)
        options = RunOptions(
            home=chosen_home(session, home),
            jobs=_choose_jobs(session, jobs),
            cpus=cpus,
            memory_bytes=memory,
            gpus=gpus,
            runtime=_choose_runtime(session, runtime),
            use_cache=not no_cache,
            cache_budget=choose_size(session, "cache.budget", cache_budget),
            cache_run_budget=choose_size(session, "cache.run-budget", cache_run_budget),
            cache_policy=choose_policy(session, cache_policy),
        )
        if cache_policy is not None and options.cache_budget is options.cache_run_budget is None:
            raise click.UsageError(
                "--cache-policy says what stays if not all fits, and nothing limits the cache. "
                "Give --cache-budget SIZE or --cache-run-budget SIZE, or set cache.budget"
            )
        return command(*args, options=options, **others)

    for option in reversed(
        (
            click.option(
                "-j",
                "--jobs",
                type=click.IntRange(min=1),
                metavar="N",
                help="How many processes at the same time; one a processor by default.",
            ),
            click.option(
                "--cpus",
                type=FiniteRange(min=0),
                metavar="N",
                help="Processors that all steps together may ask for; those of the machine.",
            ),
            click.option(
                "--memory",
                type=SizeType(_memory_bytes),
                metavar="SIZE",
                help="Memory that they may ask for, such as 8Gi; that of the machine.",
            ),
            click.option(
                "--gpus",
                type=click.IntRange(0, 10_000),
                metavar="N",
                help="GPUs that they may ask for; those of the machine.",
            ),
            click.option(
                "--runtime",
                type=click.Choice(RUNTIMES),
                help="Processes of this machine, the default, or containers of docker or podman.",
            ),
            click.option(
                "--no-cache",
                is_flag=True,
                help="Neither take outputs from the cache, nor put any there.",
            ),
            *BUDGET_OPTIONS,
            home_option,
        )
    ):
        call = option(call)
    return call


def _choose_jobs(session: Session, flag: int | None) -> int | None:
    text = session.settings.get("jobs")
    if flag is not None or text is None:
        return flag
    if not text.isdecimal() or len(text) > 9 or int(text) == 0:
        raise session.settings.refusal("jobs", "a number from 1")
    return int(text)


def _choose_runtime(session: Session, flag: RuntimeName | None) -> RuntimeName:
    if flag is not None:
        return flag
    text = session.settings.get("runtime")
    for known in RUNTIMES:
        if text in (None, known):
            return known
    raise session.settings.refusal("runtime", f"one of {', '.join(RUNTIMES)}")


def home_flag() -> Path | None:
    """Return what `--home` was given on the command line of the current command."""
    flag: Path | None = click.get_current_context().params.get("home")
    return flag


def parse_params(params: tuple[str, ...]) -> dict[str, object]:
    """Return the parameters that `-p` gives; the engine reads the text as the declared type."""
    given: dict[str, object] = {}
    for param in params:
        if param.startswith("@"):
            given |= _of_file(Path(param[1:]))
            continue
        try:
            text = os.fsencode(param).decode()  # whatever the locale is
        except UnicodeDecodeError:
            message = f"the value of {param.partition('=')[0]} is not UTF-8"
            raise click.BadParameter(message, param_hint="-p") from None
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{param!r} is not NAME=VALUE", param_hint="-p")
        given[name] = value
    return given


def _of_file(path: Path) -> dict[str, object]:
    from couler.tuning.outcome import read_parameters  # who names no file needs none

    return read_parameters(path)
