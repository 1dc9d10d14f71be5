"""The options that choose passes, and what flags and settings choose together."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Callable
from dataclasses import dataclass

import click
from click.shell_completion import CompletionItem

from couler.cli._session import Session
from couler.errors import ConfigurationError, CoulerError, EngineOptionError
from couler.optimizers.pipeline import BUILT_IN, DEFAULT, Pipeline, select_passes
from couler.optimizers.registry import pass_names


@dataclass(frozen=True, slots=True)
class PassFlags:
    """What a command line says of passes."""

    pipeline: str | None = None
    add: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The flags as they are written on a command line."""
        pipeline = () if self.pipeline is None else ("--pipeline", self.pipeline)
        added = (word for text in self.add for word in ("--pass", text))
        without = (word for name in self.without for word in ("--no-pass", name))
        return (*pipeline, *added, *without)

    def __bool__(self) -> bool:
        """Return whether anything is said."""
        return self != PassFlags()


class PassType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """The text of a pass; its name is completed from the entry points, without loading one."""

    name = "pass"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the installed passes that begin so."""
        return [CompletionItem(name) for name in pass_names() if name.startswith(incomplete)]


class PipelineType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """The name of a pipeline; completed from the settings."""

    name = "pipeline"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the pipelines that begin so; of the settings where they can be read."""
        try:
            named = tuple(ctx.ensure_object(Session).settings.pipelines)
        except CoulerError:  # a shell that completes has no place for a message
            named = ()
        names = (*BUILT_IN, *named)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def passes_option(command: Callable[..., t.Any]) -> Callable[..., t.Any]:
    """Add the options that choose passes; the command takes `passes`, of `PassFlags`."""

    @functools.wraps(command)
    def call(
        *args: t.Any,
        pipeline: str | None,
        passes: tuple[str, ...],
        no_passes: tuple[str, ...],
        **others: t.Any,
    ) -> t.Any:
        return command(*args, passes=PassFlags(pipeline, passes, no_passes), **others)

    for option in reversed(
        (
            click.option(
                "--pipeline",
                type=PipelineType(),
                metavar="NAME",
                help="The passes that run: default, none, or one of [tool.couler.pipelines].",
            ),
            click.option(
                "--pass",
                "passes",
                type=PassType(),
                multiple=True,
                metavar="PASS",
                help="Run this pass as well, or with these options: NAME or "
                "'NAME{option=value,...}'; can be given several times.",
            ),
            click.option(
                "--no-pass",
                "no_passes",
                type=PassType(),
                multiple=True,
                metavar="NAME",
                help="Leave this pass out; can be given several times.",
            ),
        )
    ):
        call = option(call)
    return call


def passes_of(
    session: Session, flags: PassFlags, target_name: str | None = None
) -> Pipeline | None:
    """Return the passes that flags and settings choose, or None for the default ones."""
    name, origin = _pipeline(session, flags, target_name)
    if name == DEFAULT and not flags.add and not flags.without:
        return None
    settings = session.settings
    named = {one: stated.passes for one, stated in settings.pipelines.items()}
    try:
        chosen = select_passes(name, add=flags.add, without=flags.without, named=named)
        return Pipeline(chosen, name=None if flags.without else name)
    except ConfigurationError as error:
        if name in settings.pipelines:
            raise ConfigurationError(f"{settings.pipelines[name].origin}: {error}") from error
        raise
    except EngineOptionError as error:
        if origin is not None and name not in (*BUILT_IN, *named):
            raise ConfigurationError(f"{origin}: {error}") from error
        raise


def _pipeline(
    session: Session, flags: PassFlags, target_name: str | None
) -> tuple[str, str | None]:
    """Return the name of the pipeline, and where the settings say so."""
    if flags.pipeline is not None:
        return flags.pipeline, None
    settings = session.settings
    stated = None if target_name is None else settings.targets.get(target_name)
    if stated is not None and "pipeline" in stated.document.tree:
        from couler.cli._targets import read_target  # only those who name a target pay for it

        return read_target(str(target_name), stated).pipeline or DEFAULT, stated.origin
    return settings.values.get("pipeline", (DEFAULT, None))
