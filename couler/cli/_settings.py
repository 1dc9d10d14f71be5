"""Settings beside the flags: `COULER_*`, `[tool.couler]` of pyproject.toml, the user's own file."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import AfterValidator, BeforeValidator, Field as ModelField, Strict, create_model

from couler.config_files import Document, Table, read_text, read_toml, shown
from couler.errors import ConfigurationError
from couler.plugins import find_plugins


def _as_text(*kinds: type) -> BeforeValidator:
    """Return what takes a text, or a value of some types as a text."""

    def read(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, (str, *kinds)):
            raise ValueError(f"it must be a number, not {shown(value)}")
        return str(value)

    return BeforeValidator(read)


_Number = t.Annotated[str, _as_text(int)]
_Decimal = t.Annotated[str, _as_text(int, float)]
_Unshown = t.Annotated[str, BeforeValidator(lambda one: one if isinstance(one, str) else "")]
_NotNegative = t.Annotated[float, Strict(), ModelField(ge=0)]
_Amount = t.Annotated[float, Strict(), ModelField(ge=0, lt=1e12)]

_TEXTS: Mapping[str, t.Any] = {
    "engine": str,
    "target": str,
    "profile": str,
    "pipeline": str,
    "format": str,
    "home": str,
    "jobs": _Number,
    "runtime": str,
    "cluster": str,
    "cache.budget": _Number,
    "cache.run-budget": _Number,
    "cache.policy": str,
    "llm.base-url": str,
    "llm.model": str,
    "llm.api-key-env": _Unshown,
    "llm.structured": str,
    "llm.timeout": _Decimal,
    "llm.max-retries": _Number,
    "llm.temperature": _Decimal,
    "llm.seed": _Number,
    "llm.answer-tokens": _Number,
    "llm.max-tokens-total": _Number,
    "llm.max-cost": _Decimal,
    "llm.currency": str,
}
"""The settings that are texts, and what a file may write. What is before a dot is a table."""

_KEYS = frozenset(("api-key", "api_key", "apikey", "key", "token"))
"""What no file may say of language models, and no message shows."""

_PATHS = ("home", "cluster")
"""Those that are paths: in a file they start at its folder."""


def _free_name(name: str) -> str:
    if name in ("default", "none"):
        raise ValueError("it is there already. Give it another name, and choose it by that")
    return name


class _TokenPrices(Table):
    """What a million tokens cost."""

    prompt: _Amount
    completion: _Amount


@functools.cache
def _model() -> type[Table]:
    """Return the model of a table of settings."""
    prices = {"cpu_hour": _NotNegative, "memory_gib_hour": _NotNegative, "gpu_hour": _NotNegative}
    tables = {
        "cache": _table(_texts_of("cache")),
        "llm": _table({**_texts_of("llm"), "prices": dict[str, _TokenPrices]}),
        "storage": dict[str, dict[str, t.Any]],
        "targets": dict[str, dict[str, t.Any]],
        "pipelines": dict[t.Annotated[str, AfterValidator(_free_name)], list[str]],
        "prices": _table({**prices, "currency": str}),
        "code_paths": t.Any,  # which programs read
    }
    return _table({**_texts_of(""), **tables})


def _texts_of(group: str) -> dict[str, t.Any]:
    return {
        name.rpartition(".")[2]: kind
        for name, kind in _TEXTS.items()
        if name.rpartition(".")[0] == group
    }


def _table(kinds: Mapping[str, t.Any]) -> type[Table]:
    """Return the model of a table with some keys."""
    fields: dict[str, t.Any] = {
        name.replace("-", "_"): (kind, ModelField(None, alias=name)) for name, kind in kinds.items()
    }
    return create_model("SettingsTable", __base__=Table, **fields)


class Stated(t.NamedTuple):
    """A table of the settings, as it was found."""

    origin: str
    """Where it stands, for messages."""
    folder: Path
    """The folder that its relative paths start at."""
    document: Document


class StatedPasses(t.NamedTuple):
    """A pipeline of the settings, as it was found."""

    origin: str
    """Where it stands, for messages."""
    passes: tuple[str, ...]
    """Texts of passes in order."""


@dataclass(frozen=True)
class Settings:
    """The value of each setting that is set, and where it comes from."""

    values: dict[str, tuple[str, str]] = field(default_factory=dict)
    lines: dict[str, Callable[[], int]] = field(default_factory=dict)
    """What finds the line of a setting that is from a file."""
    storages: dict[str, dict[str, t.Any]] = field(default_factory=dict)
    """What is stated of storages: by kind, or by engine and kind."""
    targets: dict[str, Stated] = field(default_factory=dict)
    """What is stated of engines elsewhere, by their names."""
    pipelines: dict[str, StatedPasses] = field(default_factory=dict)
    """Rows of passes, by their names."""
    prices: dict[str, t.Any] = field(default_factory=dict)
    """What compute costs: the fields of `couler.optimizers.estimate.Prices` that are stated."""
    llm_prices: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """What a million tokens cost, `prompt` and `completion`, by patterns of names of models."""

    def get(self, name: str, flag: str | None = None) -> str | None:
        """Return the flag if it is given, else the setting, else None."""
        return self.values.get(name, (None, ""))[0] if flag is None else flag

    def engine(self, flag: str | None = None) -> str | None:
        """Return the engine of a flag or of the settings, which must be installed."""
        engine, known = self.get("engine", flag), find_plugins("couler.backends")
        if flag is None and engine is not None and engine not in known:
            raise self.refusal("engine", f"one of {', '.join(known)}")
        return engine

    def refusal(self, name: str, expected: str) -> ConfigurationError:
        """Return an error that says what the value of a setting has to be."""
        return ConfigurationError(
            f"{self.origin(name)}: {name} must be {expected}, not {self.values[name][0]!r:.60}"
        )

    def origin(self, name: str) -> str:
        """Return where a setting that is set comes from."""
        origin = self.values[name][1]
        return f"{origin}:{self.lines[name]()}" if name in self.lines else origin

    def choose(self, name: str, flag: str | None, known: tuple[str, ...]) -> str:
        """Return the flag, else the setting if this command knows it, else the first known."""
        value = self.get(name)
        return flag or (value if value in known else known[0])


def read_settings(folder: Path, environment: Mapping[str, str]) -> Settings:
    """Read the settings that hold in a folder."""
    found = Settings()
    for origin, base, document in _documents(folder, environment):
        _add(found, origin, base, document)
    for name in _TEXTS:  # the engine first: it takes away the profile of another
        variable = f"COULER_{name.upper().replace('.', '_').replace('-', '_')}"
        if environment.get(variable):
            _add_texts(found, variable, {name: environment[variable]})
    return found


def _add_texts(settings: Settings, origin: str, given: Mapping[str, str]) -> None:
    """Take in settings that go before those that are known; a profile is that of its engine."""
    if given.get("engine", settings.get("engine")) != settings.get("engine"):
        settings.values.pop("profile", None)
    if "llm.api-key-env" in given:  # it may be a key, which no message shows
        from couler.llm.reading import check_variable_name

        check_variable_name(origin, given["llm.api-key-env"])
    for name, value in given.items():
        settings.values[name] = (value, origin)
        settings.lines.pop(name, None)


def _add(settings: Settings, origin: str, base: Path, document: Document) -> None:
    """Take in the settings of a file."""
    llm = document.at("llm").tree
    if isinstance(llm, Mapping) and not _KEYS.isdisjoint(llm):
        from couler.llm.reading import refuse_key

        raise refuse_key(origin)
    tree = document.read(_model()).model_dump(by_alias=True, exclude_unset=True)
    stated = replace(document, tree=tree)
    texts = {
        name: value for name in _TEXTS if (value := stated.at(*name.split(".")).tree) is not None
    }
    paths = {name: texts[name] for name in _PATHS if texts.get(name, "~")[:1] != "~"}
    _add_texts(settings, origin, texts | {name: str(base / path) for name, path in paths.items()})
    settings.lines.update(
        {name: functools.partial(document.line, tuple(name.split("."))) for name in texts}
    )
    for kind, fields in tree.get("storage", {}).items():
        settings.storages[kind] = {**settings.storages.get(kind, {}), **fields}
    settings.targets.update(
        {
            name: Stated(f'{origin}, target "{name}"', base, document.at("targets", name))
            for name in tree.get("targets", ())
        }
    )
    settings.pipelines.update(
        {
            name: StatedPasses(origin, tuple(passes))
            for name, passes in tree.get("pipelines", {}).items()
        }
    )
    settings.prices.update(document.at("prices").tree or {})
    settings.llm_prices.update(tree.get("llm", {}).get("prices", {}))


def _documents(
    folder: Path, environment: Mapping[str, str]
) -> Iterator[tuple[str, Path, Document]]:
    """Yield the tables of settings in files, the weakest first, with the folder of the file."""
    home = environment.get("HOME") and Path(environment["HOME"], ".config")
    base = environment.get("XDG_CONFIG_HOME") or home
    if base and (user := Path(base, "couler", "config.toml")).is_file():
        yield str(user), user.parent, read_toml(read_text(user), str(user))
    for candidate in (folder, *folder.parents):
        project = candidate / "pyproject.toml"
        if project.is_file():
            document = read_toml(read_text(project), str(project)).at("tool", "couler")
            if document.tree is not None:
                yield f"[tool.couler] of {project}", candidate, document
                break
