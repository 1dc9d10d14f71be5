"""Commands of jobs: text or words of a program, and where its arguments go."""

from __future__ import annotations

import re
import shlex

from couler.dsl.handles import Value
from couler.dsl.jobs import as_text
from couler.ir.kubelet import protect_dollars

_NEEDS_SHELL = re.compile(r"[^\w ./:=@%+,-]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PARAMETER = re.compile(r"[-\w@*#?$!]", re.ASCII)
"""What a shell expands behind a dollar; before anything else a dollar is itself."""

_ARGUMENTS = re.compile(r"\$(?:[@*1-9]|\{#?[@*1-9])")
_COMPOUND = frozenset(("{", "!", "if", "for", "while", "until", "case", "function"))
_BUILTINS = frozenset(("exec", "cd", "export", "source", ".", "eval", "set", "ulimit", "umask"))


class CommandError(ValueError):
    """A command cannot be run as it is meant; the message says how to write it."""


def command_words(command: object, args: object = ()) -> list[object]:
    """Return a command as words: text that is more than words is for a shell."""
    if command is None:
        return []
    if not isinstance(command, str):
        words = list(command) if isinstance(command, list | tuple) else [command]
        return [as_text(word) for word in words]
    text = command.strip()
    first, *_ = text.split() or [""]
    if not first:
        raise CommandError("the command is empty; leave it out for that of the image")
    if not (_NEEDS_SHELL.search(text) or _ASSIGNMENT.match(first) or first in _BUILTINS):
        return list(shlex.split(text))
    reader = _ShellText(text)
    if reader.names_arguments:
        return ["sh", "-c", text, "sh"]
    if not args:
        return ["sh", "-c", text]
    if reader.is_compound or first in _COMPOUND:
        raise CommandError(
            "the command is more than one simple command, so its end is no place for arguments. "
            'Write "$@" where they go, such as: cd /srv && python train.py "$@"'
        )
    return ["sh", "-c", f'{text} "$@"', "sh"]


def unexpanded(word: object) -> object:
    """Return a word of a pod so that the program gets it as it is, with its dollars."""
    if isinstance(word, Value) or not isinstance(word, str):
        return word
    return protect_dollars(word)


class _ShellText:
    """What a text is for a shell, as far as it matters where arguments go."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.names_arguments = False
        """It says where its arguments go."""
        self.is_compound = False
        """It is more than one simple command: has operators, lines or a comment."""
        self._read(0, None)

    def _read(self, place: int, closing: str | None, *, starts_word: bool = True) -> int:
        """Read up to what closes this part, and return the place behind it."""
        text = self._text
        while place < len(text):
            char = text[place]
            if char == closing:
                return place + 1
            if char == "#" and starts_word:
                self._note_operator(closing)
                end = text.find("\n", place)
                place = len(text) if end < 0 else end
                continue
            starts_word = char in " \t\n;|&()"
            place = self._read_one(place, char, closing)
        if closing is not None:
            raise CommandError(f"in the command something is not closed: {closing} is missing")
        return place

    def _read_one(self, place: int, char: str, closing: str | None) -> int:
        text = self._text
        if char == "\\":
            return place + 2
        if char == "'":
            end = text.find("'", place + 1)
            if end < 0:
                raise CommandError("in the command something is not closed: ' is missing")
            return end + 1
        if char == '"':
            return self._read_quoted(place + 1)
        if char == "`":
            return self._read(place + 1, "`")
        if char == "$":
            return self._read_dollar(place)
        if char == "(":
            self._note_operator(closing)
            return self._read(place + 1, ")")
        is_redirection = char == "&" and text[place - 1 : place] in ("<", ">")
        if (char in ";|&\n" and not is_redirection) or text.startswith("<<", place):
            self._note_operator(closing)
        return place + 1

    def _read_quoted(self, place: int) -> int:
        while place < len(self._text):
            char = self._text[place]
            if char == '"':
                return place + 1
            place = self._read_one(place, char, '"') if char in "\\`$" else place + 1
        raise CommandError('in the command something is not closed: " is missing')

    def _read_dollar(self, place: int) -> int:
        if _ARGUMENTS.match(self._text, place):
            self.names_arguments = True
        after = self._text[place + 1 : place + 2]
        if after == "(":
            return self._read(place + 2, ")")
        if after == "{":
            return self._read(place + 2, "}", starts_word=False)
        return place + (2 if _PARAMETER.match(after) else 1)

    def _note_operator(self, closing: str | None) -> None:
        """Note an operator, which matters only outside of what is substituted."""
        if closing is None:
            self.is_compound = True
