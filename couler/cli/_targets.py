"""Named targets: engines elsewhere, as settings state them, and the choice among them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import click
from pydantic import AfterValidator, ConfigDict, Field as ModelField

from couler.backends import get_backend
from couler.backends.base import Backend, Target
from couler.backends.remote import Connection, KnowsPaths
from couler.backends.shared_entries import KeepsEntries
from couler.cli._options import target_of
from couler.cli._settings import Settings, Stated
from couler.cli.session import Session
from couler.config_files import Table
from couler.errors import ConfigurationError
from couler.ir.base import FrozenDict
from couler.ir.diagnostics import did_you_mean
from couler.ir.quantity import parse_bytes
from couler.rest.credentials import FORMS

_SECRET = re.compile(
    r"(^|[_-])(token|password|passwd|passphrase|secret|credentials?|authorization|apikey|"
    r"(api|access|secret|private|account)[_-]?key)$",
    re.IGNORECASE,
)
"""Names of fields whose values nobody else may read."""


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """An engine elsewhere, as the settings state it."""

    name: str
    origin: str
    engine: str
    target: Target
    storages: Mapping[str, Mapping[str, t.Any]]
    fields: Mapping[str, t.Any] = field(default_factory=dict)
    folder: Path | None = None
    pipeline: str | None = None
    repository: str | None = None
    cache_budget: int | None = None

    def fields_for(self, backend: Backend) -> dict[str, t.Any]:
        """Return how it is reached, with paths that hold in every folder."""
        paths = backend.path_fields if isinstance(backend, KnowsPaths) else ()
        return {
            name: self._place(value) if name in paths else self._with_places(value)
            for name, value in self.fields.items()
        }

    @property
    def files(self) -> str | None:
        """The repository of its files, as it holds in every folder."""
        return None if self.repository is None else str(self._place(self.repository))

    def _place(self, value: t.Any) -> t.Any:
        """Return a path as it holds in every folder; a URL as it is."""
        if not isinstance(value, str):
            return self._with_places(value)
        if not value or "://" in value:
            return value
        return str((self.folder or Path.cwd()) / Path(value).expanduser())

    def _with_places(self, value: t.Any) -> t.Any:
        """Return a value whose references to files hold in every folder."""
        if isinstance(value, Mapping):
            if set(value) == {"file"} and isinstance(value["file"], str):
                return {"file": self._place(value["file"])}
            return {name: self._with_places(one) for name, one in value.items()}
        return value


def _size(text: str) -> str:
    parse_bytes(text)
    return text


class _TargetTable(Table):
    """A target; other keys are those of the engine."""

    model_config = ConfigDict(extra="allow")

    engine: str = ModelField(examples=['the engine\'s name, such as engine = "argo"'])
    profile: str | None = None
    engine_version: str | None = None
    namespace: str | None = None
    pipeline: str | None = None
    repository: str | None = None
    cache_budget: t.Annotated[str, AfterValidator(_size)] | None = None
    options: Mapping[str, t.Any] = FrozenDict()
    storage: Mapping[str, dict[str, t.Any]] = FrozenDict()


def read_target(name: str, stated: Stated) -> NamedTarget:
    """Read the table of a target."""
    origin, document = stated.origin, stated.document
    table = document.read(_TargetTable, ("targets", name))
    fields = table.model_extra or {}
    for place in _plain_secrets(fields):
        raise ConfigurationError(
            f"{origin}: {place} holds a secret itself. Write where it is: {FORMS}"
        )
    return NamedTarget(
        name,
        origin,
        table.engine,
        Target(
            profile=table.profile,
            engine_version=table.engine_version,
            namespace=table.namespace,
            options=table.options,
        ),
        table.storage,
        fields,
        stated.folder,
        table.pipeline,
        table.repository,
        None if table.cache_budget is None else parse_bytes(table.cache_budget),
    )


def choose_target(
    session: Session, engine: str | None, name: str | None, *, argument: str | None = None
) -> tuple[NamedTarget | None, str]:
    """Return the named target that flags and settings choose, and its engine."""
    settings = session.settings
    if name is not None:
        target = _named(settings, name, argument or "--target")
        if engine not in (None, target.engine):
            raise click.UsageError(f'the target "{name}" is of {target.engine}, not of {engine}')
        return target, target.engine
    default = settings.get("target")
    if default is not None:
        target = _named(settings, default, settings.values["target"][1])
        if engine in (None, target.engine):
            return target, target.engine
    engine = settings.engine(engine)
    if engine is None:
        raise click.UsageError(_nothing_chosen(settings, argument))
    fitting = [
        one
        for one, stated in settings.targets.items()
        if stated.document.at("engine").tree == engine
    ]
    if len(fitting) > 1:
        raise click.UsageError(
            f"several targets are of {engine}: {', '.join(fitting)}. Give "
            f"{argument or '--target NAME'}, or set target in [tool.couler]"
        )
    return (_named(settings, fitting[0], ""), engine) if fitting else (None, engine)


def connect_to(
    session: Session,
    engine: str | None,
    name: str | None,
    *,
    profile: str | None = None,
    engine_version: str | None = None,
    namespace: str | None = None,
    options: tuple[str, ...] = (),
    storages: tuple[str, ...] = (),
) -> Connection:
    """Return how to reach the engine that flags and settings choose."""
    named, engine = choose_target(session, engine, name)
    backend = get_backend(engine)
    base = Target() if named is None else named.target
    target = target_of(
        session,
        engine,
        profile=profile or base.profile,
        engine_version=engine_version or base.engine_version,
        namespace=namespace or base.namespace,
        options=options,
        storages=storages,
        own_storages={} if named is None else named.storages,
    )
    own = {} if named is None or not isinstance(backend, KeepsEntries) else _files_option(named)
    target = replace(target, options={**own, **base.options, **target.options})
    if named is None:
        return Connection(engine, target)
    return Connection(engine, target, named.fields_for(backend), named.name)


def _nothing_chosen(settings: Settings, argument: str | None) -> str:
    known = ", ".join(settings.targets)
    if argument is None:
        return "no engine is chosen. Give -e ENGINE, or " + (
            f"--target NAME ({known})" if known else "a target in [tool.couler.targets.NAME]"
        )
    if not known:
        return f"no target is chosen. State one in [tool.couler.targets.NAME], and give {argument}"
    return f"no target is chosen. Give {argument} ({known}), or set target in [tool.couler]"


def _files_option(named: NamedTarget) -> dict[str, str]:
    """Return the option by which entries of cached steps tell where their files are."""
    return {} if named.files is None else {"repository": named.files}


def _named(settings: Settings, name: str, origin: str) -> NamedTarget:
    stated = settings.targets.get(name)
    if stated is None:
        known = ", ".join(settings.targets) or "none"
        raise ConfigurationError(
            f'{origin}: there is no target "{name}"; the settings have: {known}.'
            f"{did_you_mean(name, settings.targets)}"
        )
    return read_target(name, stated)


def _plain_secrets(table: Mapping[str, t.Any], inside: str = "") -> Iterator[str]:
    """Yield the places of texts that are secrets by their names, or hold a password."""
    for name, value in table.items():
        place = f"{inside}{name}"
        if isinstance(value, Mapping):
            if len(value) != 1 or set(value) - {"env", "file", "command"}:
                yield from _plain_secrets(value, f"{place}.")
        elif _has_password(value) or (_SECRET.search(name) and not isinstance(value, bool)):
            yield place


def _has_password(value: object) -> bool:
    try:
        return isinstance(value, str) and "://" in value and bool(urlsplit(value).password)
    except ValueError:  # it is no URL; whoever needs one says so
        return False
