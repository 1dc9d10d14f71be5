"""Settings beside the flags: `COULER_*`, `[tool.couler]` of pyproject.toml, the user's own file."""

from __future__ import annotations

import difflib
import tomllib
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from couler.errors import ConfigurationError

NAMES = (
    "engine",
    "target",
    "profile",
    "pipeline",
    "format",
    "home",
    "jobs",
    "runtime",
    "cluster",
    "cache.budget",
    "cache.run-budget",
    "cache.policy",
    "llm.base-url",
    "llm.model",
    "llm.api-key-env",
    "llm.structured",
    "llm.timeout",
    "llm.max-retries",
    "llm.temperature",
    "llm.seed",
    "llm.answer-tokens",
    "llm.max-tokens-total",
    "llm.max-cost",
    "llm.currency",
)
"""The settings that exist; each is text. What is before a dot is a table."""

_GROUPS = tuple(dict.fromkeys(name.partition(".")[0] for name in NAMES if "." in name))

STORAGE = "storage"
"""A setting that is a table: what is stated of storages once for all programs."""

TARGETS = "targets"
"""A setting that is a table: engines elsewhere, by the names that the user gives them."""

PIPELINES = "pipelines"
"""A setting that is a table: rows of passes, by the names that the user gives them."""

PRICES = "prices"
"""A setting that is a table: what compute costs."""

LLM_PRICES = "llm.prices"
"""A setting that is a table: what tokens of language models cost, by patterns of their names."""

_ALL = (*NAMES, STORAGE, TARGETS, PIPELINES, PRICES, LLM_PRICES)

_KEYS = ("llm.api-key", "llm.api_key", "llm.apikey", "llm.key", "llm.token")
"""What no file may say, and no message shows."""

_AMOUNTS = ("cpu_hour", "memory_gib_hour", "gpu_hour")
_CURRENCY = "currency"

_NAMES_OF_OURS = ("default", "none")
"""Pipelines that are always there, so that none of the settings is called so."""

_DECIMALS = ("llm.timeout", "llm.temperature", "llm.max-cost")
"""Those that a file may write as a number with a fraction."""

_NUMBERS = (
    *("jobs", "cache.budget", "cache.run-budget", *_DECIMALS),
    *("llm.max-retries", "llm.seed", "llm.answer-tokens", "llm.max-tokens-total"),
)
"""Those that a file may write as a number."""

_PATHS = ("home", "cluster")
"""Those that are paths: in a file they start at its folder."""


class Stated(t.NamedTuple):
    """A table of the settings, as it was found."""

    origin: str
    """Where it stands, for messages."""
    folder: Path | None
    """The folder that its relative paths start at."""
    table: Mapping[str, t.Any]


class StatedPasses(t.NamedTuple):
    """A pipeline of the settings, as it was found."""

    origin: str
    """Where it stands, for messages."""
    passes: tuple[str, ...]
    """Texts of passes in order."""


@dataclass(frozen=True)
class Settings:
    """The value of each setting that is set, and where it comes from."""

    values: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    storages: Mapping[str, Mapping[str, t.Any]] = field(default_factory=dict)
    """What is stated of storages: by kind, or by engine and kind."""
    targets: Mapping[str, Stated] = field(default_factory=dict)
    """What is stated of engines elsewhere, by their names."""
    pipelines: Mapping[str, StatedPasses] = field(default_factory=dict)
    """Rows of passes, by their names."""
    prices: Mapping[str, t.Any] = field(default_factory=dict)
    """What compute costs: the fields of `couler.optimizers.estimate.Prices` that are stated."""
    llm_prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What a million tokens cost, `prompt` and `completion`, by patterns of names of models."""

    def get(self, name: str, flag: str | None = None) -> str | None:
        """Return the flag if it is given, else the setting, else None."""
        if flag is not None:
            return flag
        return _value(self.values, name)

    def refusal(self, name: str, expected: str) -> ConfigurationError:
        """Return an error that says what the value of a setting has to be."""
        value, origin = self.values[name]
        return ConfigurationError(f"{origin}: {name} must be {expected}, not {value!r}")

    def origin(self, name: str) -> str:
        """Return where a setting that is set comes from."""
        return self.values[name][1]

    def choose(self, name: str, flag: str | None, known: tuple[str, ...]) -> str:
        """Return the flag, else the setting if this command knows it, else the first known."""
        if flag is not None:
            return flag
        value = self.get(name)
        return value if value in known else known[0]


def read_settings(folder: Path, environment: Mapping[str, str]) -> Settings:
    """Read the settings that hold in a folder."""
    values: dict[str, tuple[str, str]] = {}
    storages: dict[str, dict[str, t.Any]] = {}
    targets: dict[str, Stated] = {}
    pipelines: dict[str, StatedPasses] = {}
    prices: dict[str, t.Any] = {}
    llm_prices: dict[str, Mapping[str, float]] = {}
    for origin, base, table in _tables(folder, environment):
        if table.get("engine", _value(values, "engine")) != _value(values, "engine"):
            values.pop("profile", None)
        for name, value in _flat(origin, table):
            if name == STORAGE:
                _add_storages(storages, origin, value)
                continue
            if name == TARGETS:
                targets |= dict(_read_targets(origin, base, value))
                continue
            if name == PIPELINES:
                pipelines |= dict(_read_pipelines(origin, value))
                continue
            if name == PRICES:
                prices |= _read_prices(origin, value)
                continue
            if name == LLM_PRICES:
                llm_prices |= dict(_read_llm_prices(origin, value))
                continue
            if name in _KEYS:
                raise _refuse_key(origin)
            if name not in NAMES:
                near = difflib.get_close_matches(name, _ALL, n=1)
                hint = f' Did you mean "{near[0]}"?' if near else ""
                raise ConfigurationError(
                    f'{origin}: there is no setting "{name}"; there are: {", ".join(_ALL)}.{hint}'
                )
            values[name] = (_text(origin, base, name, value), origin)
    return Settings(values, storages, targets, pipelines, prices, llm_prices)


def _flat(origin: str, table: Mapping[str, t.Any]) -> Iterator[tuple[str, t.Any]]:
    """Yield settings by their names, those of a group with that of the group before them."""
    for name, value in table.items():
        if name not in _GROUPS:
            yield name, value
        elif isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            raise ConfigurationError(
                f"{origin}: {name} is a table, such as [tool.couler.{name}], not {value!r}"
            )


def _add_storages(found: dict[str, dict[str, t.Any]], origin: str, table: object) -> None:
    """Take in a table of storages, whose fields go before those that are known."""
    tables = table if isinstance(table, Mapping) else {"": table}
    for kind, fields in tables.items():
        if not isinstance(fields, Mapping):
            raise ConfigurationError(
                f"{origin}: {STORAGE} has a table for each kind of storage, such as "
                f"[tool.couler.{STORAGE}.s3], not {fields!r}"
            )
        found[kind] = {**found.get(kind, {}), **fields}


def _read_targets(origin: str, base: Path | None, tables: object) -> Iterator[tuple[str, Stated]]:
    """Yield the tables of engines elsewhere."""
    for name, table in (tables if isinstance(tables, Mapping) else {"": tables}).items():
        if not isinstance(table, Mapping):
            raise ConfigurationError(
                f"{origin}: {TARGETS} has a table for each engine elsewhere, such as "
                f"[tool.couler.{TARGETS}.production], not {table!r}"
            )
        yield name, Stated(f'{origin}, target "{name}"', base, table)


def _read_pipelines(origin: str, table: object) -> Iterator[tuple[str, StatedPasses]]:
    """Yield the rows of passes; one takes the place of another of its name."""
    for name, passes in (table if isinstance(table, Mapping) else {"": table}).items():
        if name in _NAMES_OF_OURS:
            raise ConfigurationError(
                f'{origin}: a pipeline "{name}" is there already. Give it another name, and choose '
                'it with pipeline = "NAME"'
            )
        if not isinstance(passes, list) or not all(isinstance(one, str) for one in passes):
            raise ConfigurationError(
                f"{origin}: {PIPELINES} has a list of passes for each name, such as "
                f'small = ["split{{group_steps=100}}"], not {f"{name} = " * bool(name)}{passes!r}'
            )
        yield name, StatedPasses(origin, tuple(passes))


def _read_prices(origin: str, table: object) -> dict[str, t.Any]:
    """Return the prices that a table states."""
    if not isinstance(table, Mapping):
        raise ConfigurationError(
            f"{origin}: {PRICES} is a table, such as [tool.couler.{PRICES}] with cpu_hour = 0.04, "
            f"not {table!r}"
        )
    known = (*_AMOUNTS, _CURRENCY)
    for name, value in table.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f' Did you mean "{near[0]}"?' if near else ""
            raise ConfigurationError(
                f'{origin}: there is no price "{name}"; there are: {", ".join(known)}.{hint}'
            )
        if name == _CURRENCY:
            if not isinstance(value, str):
                raise ConfigurationError(f"{origin}: {name} must be a text, not {value!r}")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise ConfigurationError(f"{origin}: {name} must be a number from 0, not {value!r}")
    return dict(table)


def _read_llm_prices(origin: str, tables: object) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the prices of language models; one takes the place of another of its pattern."""
    for pattern, table in (tables if isinstance(tables, Mapping) else {"": tables}).items():
        prices = dict(table) if isinstance(table, Mapping) else {}
        if set(prices) != {"prompt", "completion"} or not all(map(_is_amount, prices.values())):
            raise ConfigurationError(
                f"{origin}: {LLM_PRICES} has a table for each model or pattern of names, such as "
                f'[tool.couler.{LLM_PRICES}."small-*"] with prompt = 0.5 and completion = 1.5, '
                f"numbers from 0 for a million tokens; not {f'{pattern} = ' * bool(pattern)}"
                f"{table!r}"
            )
        yield pattern, {name: float(value) for name, value in prices.items()}


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _refuse_key(origin: str) -> ConfigurationError:
    from couler.llm.reading import refuse_key

    return refuse_key(origin)


def _text(origin: str, base: Path | None, name: str, value: object) -> str:
    if name in _NUMBERS and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if name in _DECIMALS and isinstance(value, float):
        return str(value)
    if name == "llm.api-key-env":  # it may be a key, which no message shows
        from couler.llm.reading import check_variable_name

        check_variable_name(origin, value if isinstance(value, str) else "")
    if not isinstance(value, str):
        kind = "number" if name in _NUMBERS else "text"
        raise ConfigurationError(f"{origin}: {name} must be a {kind}, not {value!r}")
    if name in _PATHS and base is not None and not value.startswith("~"):
        return str(base / value)
    return value


def _value(values: Mapping[str, tuple[str, str]], name: str) -> str | None:
    value, _ = values.get(name, (None, ""))
    return value


def _tables(
    folder: Path, environment: Mapping[str, str]
) -> Iterator[tuple[str, Path | None, Mapping[str, t.Any]]]:
    """Yield the tables of settings, the weakest first, with the folder of the file."""
    user = _user_file(environment)
    if user is not None and user.is_file():
        yield str(user), user.parent, _read(user)
    for candidate in (folder, *folder.parents):
        project = candidate / "pyproject.toml"
        if project.is_file():
            table = _read(project).get("tool", {}).get("couler")
            if table is not None:
                yield f"[tool.couler] of {project}", candidate, table
                break
    for name in NAMES:  # the engine first: it takes away the profile of another
        variable = f"COULER_{name.upper().replace('.', '_').replace('-', '_')}"
        value = environment.get(variable)
        if value:
            yield variable, None, {name: value}


def _user_file(environment: Mapping[str, str]) -> Path | None:
    base = environment.get("XDG_CONFIG_HOME")
    if base:
        return Path(base) / "couler" / "config.toml"
    home = environment.get("HOME")
    return Path(home) / ".config" / "couler" / "config.toml" if home else None


def _read(path: Path) -> dict[str, t.Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
