"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
import os
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from couler.backends.base import Target
from couler.cli.load import FileType
from couler.cli.session import Session
from couler.config_files import shown
from couler.errors import ConfigurationError, CoulerError, EngineOptionError
from couler.ir.artifacts import STORED
from couler.ir.defaults import Storages
from couler.optimizers.pipeline import BUILT_IN, DEFAULT, Pipeline, pass_names, select_passes
from couler.plugins import find_plugins

if t.TYPE_CHECKING:
    from couler.cli.load import Source
    from couler.cluster.model import Cluster


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
    engine = session.settings.engine(flag)
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


def engine_and_target(
    session: Session, engine: str | None, target_name: str | None, **flags: t.Any
) -> tuple[str | None, Target]:
    """Return an engine with the target that flags describe, or those of a named target."""
    if target_name is None:
        return engine, target_of(session, engine, **flags)
    from couler.cli._targets import connect_to  # only those who name a target pay for it

    connection = connect_to(session, engine, target_name, **flags)  # as it is submitted
    return connection.engine, connection.target


def _pairs(options: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for option in options:
        name, separator, value = option.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{option!r} is not NAME=VALUE", param_hint="--option")
        pairs[name] = value
    return pairs


storage_option = click.option(
    "--storage",
    "storages",
    multiple=True,
    metavar="KIND.FIELD=VALUE",
    help="What programs need not say of where files are, such as s3.bucket=data; can be given "
    "several times.",
)


def storages_of(
    session: Session,
    engine: str | None,
    given: tuple[str, ...],
    target: Storages | None = None,
) -> Storages:
    """Return the storages that hold for an engine."""
    found: dict[str, dict[str, t.Any]] = {}
    table = session.settings.storages
    engines = find_plugins("couler.backends") if table.keys() - set(STORED) else ()
    for kind in table:
        if kind not in engines:  # a kind that does not exist is refused with the others
            found[kind] = dict(table[kind])
    own: Mapping[str, t.Any] = {} if engine is None else table.get(engine, {})
    for stated in (own, target or {}):
        for kind, fields in stated.items():
            if not isinstance(fields, Mapping):
                raise ConfigurationError(
                    f"[tool.couler.storage.{engine}]: {kind} is {shown(fields)}; it must be a table"
                )
            found[kind] = {**found.get(kind, {}), **fields}
    for option in given:
        name, separator, value = option.partition("=")
        kind, dot, field = name.partition(".")
        if not (separator and dot and kind and field):
            raise click.BadParameter(f"{option!r} is not KIND.FIELD=VALUE", param_hint="--storage")
        found.setdefault(kind, {})[field] = value
    return found


cluster_option = click.option(
    "--cluster",
    "cluster_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The machines that steps can be placed on; else the setting cluster, else cluster.yaml "
    "beside the program or in this folder.",
)


def find_cluster_file(
    session: Session, flag: Path | None, program: Source | None = None
) -> Path | None:
    """Return the file that describes the cluster; None if there is none."""
    if flag is not None:
        return flag
    stated = session.settings.get("cluster")
    if stated is not None:
        path = Path(os.path.expanduser(stated))
        if not path.is_file():
            origin = session.settings.origin("cluster")
            raise ConfigurationError(f"{origin}: there is no cluster file {path}")
        return path
    from couler.cluster.reading import CLUSTER_FILE  # only where a pass asks for machines

    folders = [Path()]
    if program is not None and program.path != "-":
        folders.insert(0, Path(program.path).parent)
    return next(
        (folder / CLUSTER_FILE for folder in folders if (folder / CLUSTER_FILE).is_file()), None
    )


def machines_of(
    session: Session, flag: Path | None, program: Source | None = None
) -> Callable[[], Cluster | None]:
    """Return what gives the cluster that is described, if a pass asks; see `find_cluster`."""
    return partial(find_cluster, session, flag, program)


def find_cluster(
    session: Session, flag: Path | None, program: Source | None = None
) -> Cluster | None:
    """Return the cluster that is described; None if none is."""
    file = find_cluster_file(session, flag, program)
    if file is None:
        return None
    from couler.cluster.reading import read_cluster_file

    session.detail(f"the cluster of {file}")
    return read_cluster_file(file)


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
