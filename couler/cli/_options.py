"""Arguments and options that several commands share."""

from __future__ import annotations

import typing as t

import click
from click.shell_completion import CompletionItem

from couler.backends.base import Target
from couler.cli._load import FileType
from couler.cli._session import Session
from couler.cli._storages import storages_of
from couler.errors import CoulerError
from couler.ir.storages import Storages
from couler.plugins import find_plugins


class EngineType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """The name of an engine; completed from the entry points, without loading an engine."""

    name = "engine"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the installed engines that begin so."""
        names = find_plugins("couler.backends")
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class TargetType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """The name of a target; completed from the settings."""

    name = "target"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the targets that begin so; nothing where the settings cannot be read."""
        try:
            targets = ctx.ensure_object(Session).settings.targets
        except CoulerError:  # a shell that completes has no place for a message
            return []
        return [CompletionItem(name) for name in targets if name.startswith(incomplete)]


file_argument = click.argument("file", type=FileType(), metavar="FILE")

engine_option = click.option(
    "-e", "--engine", type=EngineType(), help="The engine; `couler engines` lists them."
)

profile_option = click.option(
    "--profile", metavar="NAME", help="Profile of the engine, such as argo-minimal-crd."
)

engine_version_option = click.option(
    "--engine-version", metavar="V", help="Version of the engine, such as 4.0."
)

target_option = click.option(
    "--target",
    "target_name",
    type=TargetType(),
    metavar="NAME",
    help="A target of the settings, [tool.couler.targets.NAME].",
)

namespace_option = click.option(
    "--namespace", metavar="NAME", help="Namespace that the run will live in."
)

engine_settings_option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="A further setting of the engine; can be given several times.",
)


def output_option(what: str) -> t.Callable[[t.Any], t.Any]:
    """Return the option `-o`, with what it writes."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(),
        metavar="OUT",
        help=f"{what}; - is standard output, the default.",
    )


def choose_engine(session: Session, flag: str | None) -> str:
    """Return the engine that a flag or a setting names."""
    engine = session.settings.get("engine", flag)
    if engine is None:
        known = ", ".join(find_plugins("couler.backends"))
        raise click.UsageError(
            f"no engine is chosen. Give -e ENGINE ({known}), or set engine in [tool.couler]"
        )
    return engine


def target_of(
    session: Session,
    engine: str | None,
    *,
    profile: str | None,
    engine_version: str | None = None,
    namespace: str | None = None,
    options: tuple[str, ...] = (),
    storages: tuple[str, ...] = (),
    own_storages: Storages | None = None,
) -> Target:
    """Return the target that flags and settings describe."""
    settings = session.settings
    if profile is None and engine is not None and settings.get("engine") in (None, engine):
        profile = settings.get("profile")
    return Target(
        profile=profile,
        engine_version=engine_version,
        namespace=namespace,
        options=_pairs(options),
        storages=storages_of(session, engine, storages, own_storages or {}),
    )


def _pairs(options: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for option in options:
        name, separator, value = option.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{option!r} is not NAME=VALUE", param_hint="--option")
        pairs[name] = value
    return pairs
