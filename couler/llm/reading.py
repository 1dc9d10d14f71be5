"""Settings of language models from texts: of files, of the environment, of flags."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from couler.errors import ConfigurationError
from couler.llm.settings import DEFAULT_BASE_URL, STRUCTURED, LlmSettings, Price

NAMES = (
    "base-url",
    "model",
    "api-key-env",
    "structured",
    "timeout",
    "max-retries",
    "temperature",
    "seed",
    "answer-tokens",
    "max-tokens-total",
    "max-cost",
    "currency",
)
"""Settings of `[tool.couler.llm]`; each has a variable, such as `COULER_LLM_BASE_URL`."""

KEY_VARIABLE = "COULER_LLM_API_KEY"

DEFAULT = "default"
"""The origin of what nothing states."""

_KEY = "api-key"

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")

_LONGEST_WORD = 24
"""A name of a variable has an underscore before it gets so long; a key has none."""


@dataclass(frozen=True, slots=True)
class FoundSettings:
    """Settings, and where each comes from."""

    settings: LlmSettings
    origins: Mapping[str, str]


def find_settings(
    stated: Mapping[str, tuple[str, str]],
    environ: Mapping[str, str],
    prices: Mapping[str, Mapping[str, float]] | None = None,
) -> FoundSettings:
    """Return the settings that texts and an environment state."""
    origins = dict.fromkeys((*NAMES, _KEY), DEFAULT) | {
        name: origin for name, (_, origin) in stated.items()
    }
    base_url = stated["base-url"][0] if "base-url" in stated else None
    if base_url is None and environ.get("OPENAI_BASE_URL"):
        base_url, origins["base-url"] = environ["OPENAI_BASE_URL"], "OPENAI_BASE_URL"
    key, origins[_KEY] = _find_key(stated, environ, origins["base-url"])
    read = _Reader(stated)
    settings = LlmSettings(
        base_url=(base_url or DEFAULT_BASE_URL).rstrip("/"),
        model=read.text("model") or "",
        api_key=key,
        structured=t.cast("t.Any", read.one_of("structured", STRUCTURED) or "auto"),
        temperature=read.number("temperature", float),
        seed=read.number("seed", int),
        answer_tokens=read.number("answer-tokens", int),
        max_tokens_total=read.number("max-tokens-total", int),
        max_cost=read.number("max-cost", float),
        currency=read.text("currency") or "USD",
        prices={
            name: Price(one["prompt"], one["completion"]) for name, one in (prices or {}).items()
        },
        **read.given({"timeout_s": ("timeout", float), "max_retries": ("max-retries", int)}),
    )
    return FoundSettings(settings, origins)


def settings_from_environ(environ: Mapping[str, str]) -> LlmSettings:
    """Return the settings that an environment states: `COULER_LLM_...`, else `OPENAI_...`."""
    stated = {}
    for name in NAMES:
        variable = variable_of(name)
        if environ.get(variable):
            stated[name] = (environ[variable], variable)
    return find_settings(stated, environ).settings


def variable_of(name: str) -> str:
    """Return the variable of a setting."""
    return f"COULER_LLM_{name.upper().replace('-', '_')}"


def check_variable_name(origin: str, name: str) -> None:
    """Check that a text is the name of a variable, and no key."""
    is_word = len(name) >= _LONGEST_WORD and "_" not in name
    if not _VARIABLE.fullmatch(name) or is_word:
        raise ConfigurationError(
            f"{origin}: api-key-env must be the name of an environment variable, such as "
            "MY_ENDPOINT_KEY, in capitals, digits and underscores. What stands there may be a key "
            "and is not shown. A key is never written into a file"
        )


def refuse_key(origin: str) -> ConfigurationError:
    """Return the error of a key that stands in a file."""
    return ConfigurationError(
        f"{origin}: a key of a language model is never written into a file. Put it into the "
        f"environment as {KEY_VARIABLE}, or into another variable and set api-key-env to its name"
    )


def _find_key(
    stated: Mapping[str, tuple[str, str]], environ: Mapping[str, str], address: str
) -> tuple[str, str]:
    """Return the key and where it comes from; an empty one if there is none."""
    if environ.get(KEY_VARIABLE):
        return environ[KEY_VARIABLE].strip(), KEY_VARIABLE
    if "api-key-env" in stated:
        name, origin = stated["api-key-env"]
        check_variable_name(origin, name)
        if not environ.get(name):
            raise ConfigurationError(
                f"language model: there is no key: the environment has no variable {name}, which "
                f"api-key-env names ({origin})"
            )
        return environ[name].strip(), name
    # A file of somebody else's project must not send the key of OpenAI to its own address.
    is_own = address in (DEFAULT, "OPENAI_BASE_URL") or address.startswith(("COULER_", "--"))
    if is_own and environ.get("OPENAI_API_KEY"):
        return environ["OPENAI_API_KEY"].strip(), "OPENAI_API_KEY"
    return "", DEFAULT


_N = t.TypeVar("_N", int, float)


@dataclass(frozen=True, slots=True)
class _Reader:
    stated: Mapping[str, tuple[str, str]]

    def text(self, name: str) -> str | None:
        return self.stated[name][0] if name in self.stated else None

    def one_of(self, name: str, known: tuple[str, ...]) -> str | None:
        value = self.text(name)
        if value is not None and value not in known:
            raise self._refusal(name, f"one of {', '.join(known)}")
        return value

    def number(self, name: str, kind: type[_N]) -> _N | None:
        if name not in self.stated:
            return None
        try:
            return kind(self.stated[name][0])
        except ValueError:
            expected = {"int": "a whole number", "float": "a number"}[kind.__name__]
            raise self._refusal(name, expected) from None

    def given(self, fields: Mapping[str, tuple[str, t.Any]]) -> dict[str, t.Any]:
        """Return the fields that are stated, for those whose defaults are elsewhere."""
        read = {field: self.number(name, kind) for field, (name, kind) in fields.items()}
        return {field: value for field, value in read.items() if value is not None}

    def _refusal(self, name: str, expected: str) -> ConfigurationError:
        value, origin = self.stated[name]
        return ConfigurationError(f"{origin}: {name} must be {expected}, not {value!r}")
