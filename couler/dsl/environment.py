"""Environment variables of steps, and arguments as text."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from couler.dsl.checks import OptionError, expect, shown
from couler.dsl.handles import Value, as_value
from couler.ir import storage
from couler.ir.semantics.wire import dump_json


def text_of(value: object) -> t.Any:
    """Return an argument or the value of a variable as text, or as a value of the workflow."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Value):
        return as_value(value)
    return dump_json(value)


_QUOTED = re.compile(r"""(?s)"[^"]*"|'[^']*'""")


def without_quotes(env: Mapping[str, object]) -> Mapping[str, object]:
    """Return variables without the pair of quotes that the ancestor took off their values."""
    return {
        name: value[1:-1] if isinstance(value, str) and _QUOTED.fullmatch(value) else value
        for name, value in env.items()
    }


def env_of(env: Mapping[str, object]) -> list[storage.EnvVar]:
    """Return environment variables of the IR."""
    expect(env, Mapping, "dict of names and values")
    found = []
    for name, value in env.items():
        if name == "secrets" and isinstance(value, list):  # the ancestor's way to name secrets
            found += [_env_entry(entry) for entry in value]
        elif isinstance(value, storage.SecretKey):
            found.append(storage.EnvVar(name=name, secret=value))
        elif isinstance(value, storage.ConfigKey):
            found.append(storage.EnvVar(name=name, config=value))
        elif value is None:
            raise OptionError(f'{name} is None; leave it out, or write ""')
        else:
            found.append(storage.EnvVar(name=name, value=text_of(value)))
    return found


def _env_entry(entry: t.Any) -> storage.EnvVar:
    """Read an entry of a pod's `env` list."""
    source = entry.get("valueFrom", {})
    if "secretKeyRef" in source:
        ref = source["secretKeyRef"]
        key = storage.SecretKey(secret=ref["name"], key=ref["key"])
        return storage.EnvVar(name=entry["name"], secret=key)
    if "configMapKeyRef" in source:
        ref = source["configMapKeyRef"]
        config = storage.ConfigKey(config_map=ref["name"], key=ref["key"])
        return storage.EnvVar(name=entry["name"], config=config)
    return storage.EnvVar(name=entry["name"], value=text_of(entry["value"]))


ENV_FROM = 'dict such as {"secret": "name"} or {"configMapRef": {"name": "name"}}'
"""The form that `env_from_of` reads, for messages."""


def env_from_of(entry: Mapping[str, t.Any]) -> storage.EnvFrom:
    """Return what takes all entries of a secret or config map as variables."""
    for ref in ("secretRef", "configMapRef"):
        expect(entry.get(ref, {}), Mapping, ENV_FROM)
    secret = entry.get("secretRef", {}).get("name", entry.get("secret"))
    config = entry.get("configMapRef", {}).get("name", entry.get("config_map"))
    if (secret is None) == (config is None):
        raise OptionError(f"{shown(entry)} must name a secretRef or a configMapRef")
    return storage.EnvFrom(secret=secret, config_map=config, prefix=entry.get("prefix", ""))
