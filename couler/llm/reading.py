"""Settings of language models from files, the environment and options."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Mapping
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

_KEY = "api-key"

_INTEGER = (int, "a whole number")
_NUMBER = (float, "a number")
_NUMBERS: Mapping[str, tuple[Callable[[str], t.Any], str]] = {
    "timeout": _NUMBER,
    "max-retries": _INTEGER,
    "temperature": _NUMBER,
    "seed": _INTEGER,
    "answer-tokens": _INTEGER,
    "max-tokens-total": _INTEGER,
    "max-cost": _NUMBER,
}
_FIELDS = {"timeout": "timeout_s"}

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")

_LONGEST_WORD = 24  # a name of a variable has an underscore before it gets so long; a key has none


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
    fields = {
        _FIELDS.get(name, name.replace("-", "_")): _value(name, *stated[name])
        for name in NAMES
        if name in stated and name not in ("base-url", "api-key-env")
    }
    settings = LlmSettings(
        base_url=(base_url or DEFAULT_BASE_URL).rstrip("/"),
        api_key=key,
        prices={
            name: Price(one["prompt"], one["completion"]) for name, one in (prices or {}).items()
        },
        **fields,
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


def _value(name: str, text: str, origin: str) -> t.Any:
    """Return the value of a setting."""
    kind, expected = _NUMBERS.get(name, (str, ""))
    if name == "structured" and text not in STRUCTURED:
        raise ConfigurationError(
            f"{origin}: structured must be one of {', '.join(STRUCTURED)}, not {text!r}"
        )
    try:
        return kind(text)
    except ValueError:
        raise ConfigurationError(f"{origin}: {name} must be {expected}, not {text!r}") from None
