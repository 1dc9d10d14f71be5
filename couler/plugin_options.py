"""Options of plugins: the text that gives them, `name{option=value,...}`, and their types."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import types
import typing as t
from collections.abc import Callable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal

from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.ir.quantity import parse_quantity
from couler.plugins import default_of

_NAME = re.compile(r"[^\W_][\w.-]*")
_OPTION = re.compile(r"[^\W\d][\w-]*")
_BARE = re.compile(r"[^,\[\]{}\"']+")
_BLANKS = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class RawValue:
    """The value of an option as it was written."""

    text: str
    position: int
    is_quoted: bool = False
    items: tuple[RawValue, ...] | None = None


@dataclass(frozen=True, slots=True)
class PluginText:
    """A plugin as it was written."""

    what: str
    text: str
    name: str
    options: dict[str, tuple[int, RawValue]] | None = None

    def complaint(self, position: int, problem: str) -> EngineOptionError:
        """Return the error that says what is wrong at which character."""
        return complaint(self.what, self.text, position, problem)


def parse_plugin(what: str, text: str) -> PluginText:
    """Take the text of a plugin apart."""
    return _Reader(what, text).read()


def complaint(what: str, text: str, position: int, problem: str) -> EngineOptionError:
    """Return the error that says what is wrong at which character of the text of a plugin."""
    return EngineOptionError(f"the {what} {text!r}, character {position}: {problem}")


class _Reader:
    """Reads one text from its first character to its last."""

    def __init__(self, what: str, text: str) -> None:
        self.what = what
        self.text = text
        self.at = 0

    def read(self) -> PluginText:
        """Return what the text says."""
        name = self._take(_NAME)
        if name is None:
            raise self._refuse(
                f"the name of a {self.what} is missing, such as name or name{{option=value}}"
            )
        if not self._skip("{"):
            if self._rest().startswith("="):
                raise self._refuse(
                    f"options stand in braces, as in {name}{{option=value,other=value}}; in a "
                    "shell the whole stands in quotes"
                )
            self._end(f"a {self.what} is name or name{{option=value,...}}")
            return PluginText(self.what, self.text, name)
        options: dict[str, tuple[int, RawValue]] = {}
        while not self._skip("}"):
            position = self._position()
            option = self._take(_OPTION)
            if option is None:
                raise self._refuse('the name of an option or "}" is missing')
            if not self._skip("="):
                raise self._refuse(f'"=" is missing after the option {option}')
            if option in options:
                raise complaint(
                    self.what, self.text, position, f"the option {option} is given twice"
                )
            options[option] = (position, self._value(option))
            if not self._skip(",") and not self._rest().startswith("}"):
                raise self._refuse(f'"," or "}}" is missing after the value of {option}')
        self._end("nothing stands after the braces")
        return PluginText(self.what, self.text, name, options)

    def _value(self, option: str) -> RawValue:
        position = self._position()
        if self._skip("["):
            items: list[RawValue] = []
            while not self._skip("]"):
                items.append(self._value(option))
                if not self._skip(",") and not self._rest().startswith("]"):
                    raise self._refuse(f'"," or "]" is missing in the list of {option}')
            return RawValue(self.text[position - 1 : self.at], position, items=tuple(items))
        for quote in "\"'":
            if self._rest().startswith(quote):
                return RawValue(self._quoted(quote), position, is_quoted=True)
        bare = self._take(_BARE)
        if bare is None:
            raise self._refuse(f"the value of {option} is missing; an empty text is {option}=''")
        return RawValue(bare.rstrip(), position)

    def _quoted(self, quote: str) -> str:
        start = self.at
        characters: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == quote:
                return "".join(characters)
            if character == "\\" and self.at < len(self.text):
                character = self.text[self.at]
                self.at += 1
            characters.append(character)
        raise complaint(self.what, self.text, start + 1, f"the quote {quote} has no end")

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        self._rest()
        match = pattern.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[0]

    def _skip(self, sign: str) -> bool:
        found = self._rest().startswith(sign)
        if found:
            self.at += len(sign)
        return found

    def _rest(self) -> str:
        """Return what is left, after blanks, which mean nothing."""
        match = _BLANKS.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at :]

    def _position(self) -> int:
        self._rest()
        return self.at + 1

    def _end(self, problem: str) -> None:
        if self._rest():
            raise self._refuse(problem)

    def _refuse(self, problem: str) -> EngineOptionError:
        return complaint(self.what, self.text, self._position(), problem)


_SIZE = re.compile(r"(?P<number>[\d_]+(?:\.\d+)?)\s*(?P<unit>[kKMGTP]i?)?B?", flags=re.ASCII)
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_TRUTHS = {"true": True, "false": False}
_LISTS: dict[t.Any, Callable[[Sequence[t.Any]], t.Any]] = {
    tuple: tuple,
    list: tuple,
    Sequence: tuple,
    frozenset: frozenset,
    AbstractSet: frozenset,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """An option of a plugin."""

    name: str
    annotation: t.Any
    default: t.Any

    @property
    def is_size(self) -> bool:
        """Whether it is a number of bytes, by its name."""
        return is_size_name(self.name)

    @property
    def type_text(self) -> str:
        """What its values are, in words."""
        return _words(self.annotation, is_size=self.is_size)


def is_size_name(name: str) -> bool:
    """Return whether an option of this name is a number of bytes."""
    return name == "bytes" or name.endswith("_bytes")


def options_of_class(factory: t.Any) -> tuple[Option, ...]:
    """Return the options of a class of plugins: the fields of the dataclass, in order."""
    if not dataclasses.is_dataclass(factory):
        return ()
    hints = t.get_type_hints(factory)
    return tuple(
        Option(field.name, hints[field.name], default_of(field))
        for field in dataclasses.fields(factory)
        if field.init
    )


def convert_options(factory: object, parsed: PluginText) -> dict[str, t.Any]:
    """Return the options that a text gives, as values of their types."""
    known = {option.name: option for option in options_of_class(factory)}
    values: dict[str, t.Any] = {}
    for name, (position, raw) in (parsed.options or {}).items():
        option = known.get(name)
        if option is None:
            has = f"it has: {', '.join(known)}." if known else "it has none."
            hint = did_you_mean(name.replace("-", "_"), known)
            raise parsed.complaint(position, f'{parsed.name} has no option "{name}"; {has}{hint}')
        try:
            values[name] = _convert(raw, option.annotation, is_size=option.is_size)
        except _WrongValueError as error:
            raise parsed.complaint(error.position, f"{name} {error}") from error
    return values


def _convert(raw: RawValue, annotation: t.Any, *, is_size: bool) -> t.Any:
    members = _members(annotation)
    if raw.items is None and not raw.is_quoted and raw.text.lower() == "none":
        if type(None) in members or None in members:
            return None
        if str not in members:
            raise _WrongValueError(raw, f"must be {_words(annotation, is_size=is_size)}, not none")
    for member in members:
        try:
            return _convert_one(raw, member, is_size=is_size)
        except _NotThatTypeError:
            continue
    choices = [str(one) for member in members for one in _choices(member)]
    hint = did_you_mean(raw.text, choices)
    raise _WrongValueError(
        raw,
        f"must be {_words(annotation, is_size=is_size)}, not {raw.text!r}{hint and '.' + hint}",
    )


class _NotThatTypeError(Exception):
    """The text is no value of one of the types."""


class _WrongValueError(Exception):
    """The text is no value of the option; the message goes on after the option's name."""

    def __init__(self, raw: RawValue, message: str) -> None:
        self.position = raw.position
        super().__init__(message)


def _convert_one(raw: RawValue, kind: t.Any, *, is_size: bool) -> t.Any:
    origin = t.get_origin(kind) or kind
    if origin in _LISTS:
        return _convert_list(raw, origin, t.get_args(kind), is_size=is_size)
    if raw.items is not None:
        raise _NotThatTypeError
    for choice in _choices(kind):
        if raw.text == str(choice):
            return choice
    if kind is str or kind is t.Any:
        return raw.text
    if raw.is_quoted:
        raise _NotThatTypeError
    if kind is bool and raw.text.lower() in _TRUTHS:
        return _TRUTHS[raw.text.lower()]
    if kind is int:
        return _bytes(raw) if is_size else _number(raw.text, int)
    if kind is float:
        return _number(raw.text, float)
    raise _NotThatTypeError


def _convert_list(
    raw: RawValue, origin: t.Any, arguments: tuple[t.Any, ...], *, is_size: bool
) -> t.Any:
    given = (raw,) if raw.items is None else raw.items
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(given) != len(arguments):
            raise _NotThatTypeError
        kinds: Sequence[t.Any] = arguments
    else:
        kinds = [arguments[0] if arguments else str] * len(given)
    return _LISTS[origin](
        [_convert(one, kind, is_size=is_size) for one, kind in zip(given, kinds, strict=True)]
    )


_N = t.TypeVar("_N", int, float)


def _number(text: str, kind: type[_N]) -> _N:
    try:
        number = kind(text)
    except ValueError as error:
        raise _NotThatTypeError from error
    if math.isnan(number):
        raise _NotThatTypeError
    return number


def _bytes(raw: RawValue) -> int:
    """Return a number of bytes: `4096`, `1.5MiB`, `1Mi`, `2MB`, `2M`."""
    match = _SIZE.fullmatch(raw.text)
    if match is None:
        raise _NotThatTypeError
    unit = match["unit"] or ""
    try:
        size = parse_quantity(match["number"].replace("_", "") + {"K": "k"}.get(unit, unit))
    except ValueError as error:
        raise _NotThatTypeError from error
    if size != int(size):
        raise _WrongValueError(raw, f"must be a whole number of bytes, not {Decimal(size):f}")
    return int(size)


def _members(annotation: t.Any) -> tuple[t.Any, ...]:
    """Return the types of a union, or the one type; texts last, as any value is one."""
    origin = t.get_origin(annotation)
    if origin is t.Annotated:
        return _members(t.get_args(annotation)[0])
    if origin in (t.Union, types.UnionType):
        inner = [member for one in t.get_args(annotation) for member in _members(one)]
        return tuple(sorted(inner, key=lambda member: member in (str, t.Any)))
    return (annotation,)


def _choices(kind: t.Any) -> tuple[t.Any, ...]:
    return t.get_args(kind) if t.get_origin(kind) is t.Literal else ()


_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "none",
    None: "none",
    t.Any: "a text",
}


def _words(annotation: t.Any, *, is_size: bool) -> str:
    """Return in words what the values of a type are."""
    told: list[str] = []
    for member in sorted(_members(annotation), key=lambda one: one in (None, type(None))):
        if choices := _choices(member):
            told += [str(choice) for choice in choices]
        elif (t.get_origin(member) or member) in _LISTS:
            inner = [one for one in t.get_args(member) if one is not Ellipsis] or [str]
            told.append(f"a list [...] of {_words(inner[0], is_size=is_size)}")
        elif member is int and is_size:
            told.append("a size such as 1MiB")
        else:
            told.append(_WORDS.get(member) or inspect.formatannotation(member))
    return " or ".join(dict.fromkeys(told))


def plain_text(value: object, *, is_size: bool = False) -> str:
    """Return the value of an option as it is written in the text of a plugin."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(plain_text(one, is_size=is_size) for one in value)}]"
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if is_size and isinstance(value, int) and value:
        power = 0
        while power < len(_UNITS) and value % 1024 ** (power + 1) == 0:
            power += 1
        return f"{value // 1024**power}{_UNITS[power - 1] if power else ''}"
    return str(value)
