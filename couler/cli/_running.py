"""Options of the commands that run workflows on this machine."""

from __future__ import annotations

import functools
import math
import typing as t
from collections.abc import Callable
from pathlib import Path

import click

from couler.backends.base import RUNTIMES, RunOptions
from couler.ir.quantity import parse_quantity

param_option = click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the workflow, read as its declared type; can be given several times.",
)

home_option = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder in which runs are kept; by default that of COULER_HOME, else the user's own.",
)


class MemoryType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """A size of memory such as `8Gi`, in bytes."""

    name = "size"

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Read the size."""
        if isinstance(value, int):
            return value
        try:
            size = math.ceil(parse_quantity(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if size < 0:
            self.fail("no memory is less than none", param, ctx)
        return size


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
        runtime: t.Any,
        no_cache: bool,
        **others: t.Any,
    ) -> t.Any:
        options = RunOptions(
            home=home,
            jobs=jobs,
            cpus=cpus,
            memory_bytes=memory,
            gpus=gpus,
            runtime=runtime,
            use_cache=not no_cache,
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
                type=click.FloatRange(min=0),
                metavar="N",
                help="Processors that all steps together may ask for; those of the machine.",
            ),
            click.option(
                "--memory",
                type=MemoryType(),
                metavar="SIZE",
                help="Memory that they may ask for, such as 8Gi; that of the machine.",
            ),
            click.option(
                "--gpus",
                type=click.IntRange(min=0),
                metavar="N",
                help="GPUs that they may ask for; those of the machine.",
            ),
            click.option(
                "--runtime",
                type=click.Choice(RUNTIMES),
                default="process",
                help="Processes of this machine, or containers of docker or podman.",
            ),
            click.option(
                "--no-cache",
                is_flag=True,
                help="Neither take outputs from the cache, nor put any there.",
            ),
            home_option,
        )
    ):
        call = option(call)
    return call


def parse_params(params: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters that `-p` gives; the engine reads the text as the declared type."""
    given = {}
    for param in params:
        name, separator, value = param.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{param!r} is not NAME=VALUE", param_hint="-p")
        given[name] = value
    return given
