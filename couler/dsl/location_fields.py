"""The fields of files outside of a workflow, checked with the names that programs have for them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from pydantic import ValidationError

from couler.dsl.checks import OptionError
from couler.ir import artifacts as ir
from couler.ir.base import Node
from couler.ir.storage import ConfigKey, SecretKey

if t.TYPE_CHECKING:
    from couler.dsl.locations import LocatedFile

_KEYS: dict[type[SecretKey | ConfigKey], str] = {
    SecretKey: "an entry of a secret: couler.ir.storage.SecretKey(secret=..., key=...)",
    ConfigKey: "an entry of a config map: couler.ir.storage.ConfigKey(config_map=..., key=...)",
}
_FLAGS = ("directory", "optional", "recurse_mode")


def check_file(file: LocatedFile) -> None:
    """Refuse settings of a file that mean nothing, whatever its location."""
    for name in _FLAGS:
        if not isinstance(getattr(file, name), bool):
            raise OptionError(f"{name}: {getattr(file, name)!r:.60} is neither True nor False")
    if file.path is not None and not file.path.strip():
        raise OptionError("its path is empty. Say where the file is in the step, or leave it out")
    mode, level = file.mode, file.compression_level
    if mode is not None and (type(mode) is not int or not 0 <= mode <= 0o777):
        raise OptionError(f"mode: {mode!r:.60} are no permissions; write them as in 0o600")
    if level is not None and (type(level) is not int or not 0 <= level <= 9):
        raise OptionError(f"compression_level: {level!r:.60} is no number from 0 to 9")


def make_location(file: LocatedFile, fields: Mapping[str, t.Any]) -> ir.Location:
    """Return the location of the IR that has these fields."""
    cls = file._KIND
    for name, field in cls.model_fields.items():
        if field.is_required() and name != "kind" and name not in fields:
            raise OptionError(f"it needs {_called(file, name)}")
    for name, value in fields.items():
        _check_key(cls, name, value, _called(file, name))
    try:
        return cls.model_validate(dict(fields))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name, *inner = map(str, problem["loc"])
        place = ".".join((_called(file, name), *inner))
        raise OptionError(f"{place}: {problem['msg']}") from error


def check_keys(cls: type[Node], fields: Mapping[str, t.Any]) -> None:
    """Refuse a text, or anything else, where a part of a location takes an entry of a secret."""
    for name, value in fields.items():
        _check_key(cls, name, value, name)


def texts_of(value: object, name: str) -> tuple[str, ...]:
    """Return a list of texts, of which one may stand alone."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise OptionError(f"{name}: {value!r:.60} is no list of texts")


def _called(file: LocatedFile, name: str) -> str:
    """Return the name that programs have for a field of the IR."""
    return next((own for own, of in file._FIELDS.items() if of == name), name)


def _check_key(cls: type[Node], name: str, value: object, called: str) -> None:
    field = cls.model_fields.get(name)
    if field is None or value is None:
        return
    for key, what in _KEYS.items():
        if key.__name__ in str(field.annotation) and not isinstance(value, key):
            raise OptionError(f"{called}: a value of type {type(value).__name__} is not {what}")
