"""The text by which a plugin is chosen, `name{option=value,...}`, as a name and its options."""

from __future__ import annotations

import re
from dataclasses import dataclass

from couler.errors import EngineOptionError

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
