"""Reads the inputs of a step, calls its function and writes its outputs.

This file is the first part of every script made of a typed step. It imports the standard
library only.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import shutil
import sys
import typing


class File(str):
    """The path of a file that travels between steps."""

    __slots__ = ()

    @property
    def path(self) -> str:
        """The path as plain text."""
        return str(self)


class Directory(File):
    """The path of a folder that travels between steps."""

    __slots__ = ()


class _Kind:
    """How values of one type are read and written."""

    def __init__(
        self,
        build: typing.Callable[[typing.Any], typing.Any] | None = None,
        types: tuple[type, ...] = (object,),
        *,
        text: bool = False,
        item: _Kind | None = None,
        fields: dict[str, _Kind] | None = None,
        make: typing.Callable[..., typing.Any] = dict,
    ) -> None:
        self.build = build  # makes the value from its JSON form, where they differ
        self.types = types  # of the JSON form, for outputs
        self.text = text  # travels as it is, not as JSON
        self.item = item
        self.fields = fields
        self.make = make

    def decode(self, value: typing.Any) -> typing.Any:
        return value if self.build is None else self.build(value)

    def read(self, name: str) -> typing.Any:
        """Return an input, which came whole or in parts: `x`, or `x_0`, `x_1`, or `x_field`."""
        text = os.environ.get("COULER_INPUT_" + name)
        if text is None:
            return self.read_parts(name)
        if self.item is not None and self.item.build in (File, Directory):
            places = {int(entry): os.path.join(text, entry) for entry in os.listdir(text)}
            files = [places.get(index) for index in range(max(places, default=-1) + 1)]
            return [file and self.item.decode(file) for file in files]
        return self.decode(text if self.text else json.loads(text))

    def read_parts(self, name: str) -> typing.Any:
        if self.fields is not None:
            given = {key: of for key, of in self.fields.items() if _is_given(f"{name}_{key}", of)}
            return self.make(**{key: of.read(f"{name}_{key}") for key, of in given.items()})
        values: list[typing.Any] = []
        while self.item is not None and _is_given(f"{name}_{len(values)}", self.item):
            values.append(self.item.read(f"{name}_{len(values)}"))
        return values


_TEXT = _Kind(types=(str,), text=True)
_INT = _Kind(types=(int,))
_BOOL = _Kind(types=(bool,))
_FLOAT = _Kind(float, (int, float))
_JSON = _Kind()
_FILE = _Kind(File, text=True)
_DIRECTORY = _Kind(Directory, text=True)


def _list(item: _Kind) -> _Kind:
    return _Kind(lambda value: [item.decode(one) for one in value], (list,), item=item)


def _tuple(*items: _Kind) -> _Kind:
    return _Kind(
        lambda value: tuple(item.decode(one) for item, one in zip(items, value, strict=True)),
        (list,),
        item=_JSON,
    )


def _dict(item: _Kind) -> _Kind:
    return _Kind(lambda value: {key: item.decode(one) for key, one in value.items()}, (dict,))


def _optional(item: _Kind) -> _Kind:
    return _Kind(
        lambda value: None if value is None else item.decode(value), (*item.types, type(None))
    )


def _record(make: typing.Callable[..., typing.Any], **fields: _Kind) -> _Kind:
    def build(value: dict[str, typing.Any]) -> typing.Any:
        return make(**{key: fields[key].decode(one) for key, one in value.items()})

    return _Kind(build, (dict,), fields=fields, make=make)


def _is_given(name: str, kind: _Kind) -> bool:
    if "COULER_INPUT_" + name in os.environ:
        return True
    if kind.fields is not None:
        return any(_is_given(f"{name}_{field}", of) for field, of in kind.fields.items())
    return kind.item is not None and _is_given(f"{name}_0", kind.item)


def _plain(value: typing.Any) -> typing.Any:
    """Return the JSON form of a value."""
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if isinstance(value, str | int | float | None):
        return value
    if hasattr(value, "_asdict"):
        return {key: _plain(one) for key, one in value._asdict().items()}
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value  # numpy


def _dump(value: typing.Any) -> str:
    """Return compact JSON without two opening braces in a row, which Argo would read."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("{{", "{\\u007b")


def _write(name: str, value: typing.Any, kind: _Kind) -> None:
    path = os.path.join(os.environ["COULER_WORK"], "outputs", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if kind.build in (File, Directory):
        _keep(name, value, path)
        return
    value = _plain(value)
    if not isinstance(value, kind.types) or (isinstance(value, bool) and int in kind.types):
        sys.exit(f"the output {name} is {value!r:.200}, which does not fit its type")
    try:
        data = _dump(value)
    except (TypeError, ValueError) as error:
        sys.exit(f"the output {name} has no JSON form: {error}")
    text = str(value) if kind.text else data
    size = len(text.encode())
    if size > 65536:
        sys.exit(f"the output {name} is {size} bytes, more than 65536: return a File instead")
    for place, content in ((path, text), (path + ".gather", _dump(data))):
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(content + "\n")  # who reads it takes one newline away


def _keep(name: str, source: typing.Any, path: str) -> None:
    """Put a file or folder where it is kept; a link is enough."""
    if not isinstance(source, str | os.PathLike) or not os.path.exists(source):
        sys.exit(f"the output {name} is {source!r:.200}, but there is no such file")
    if os.path.realpath(source) == os.path.realpath(path):
        return
    if os.path.isdir(source):
        shutil.copytree(source, path, copy_function=_link, dirs_exist_ok=True)
    else:
        _link(source, path)


def _link(source: typing.Any, path: typing.Any) -> None:
    try:
        os.link(os.path.realpath(source), path)
    except OSError:  # another disk
        shutil.copy2(source, path)


def _run(
    function: typing.Callable[..., typing.Any],
    inputs: dict[str, _Kind],
    outputs: _Kind | dict[str, _Kind],
    *,
    stay: bool = False,
) -> None:
    """Call a function with the step's inputs and keep what it returns."""
    work = os.environ.setdefault("COULER_WORK", "/tmp/couler")
    os.makedirs(work, exist_ok=True)
    if not stay:
        os.chdir(work)
    given = {name: kind.read(name) for name, kind in inputs.items() if _is_given(name, kind)}
    result = function(**given)
    if isinstance(outputs, _Kind):
        _write("result", result, outputs)
        return
    for name, kind in outputs.items():
        _write(name, getattr(result, name), kind)
