"""Commands of jobs: text or words of a program, and where its arguments go."""

from __future__ import annotations

import re
import shlex

from couler.dsl.handles import Value
from couler.dsl.jobs import as_text
from couler.ir.kubernetes_pods import protect_dollars

_NEEDS_SHELL = re.compile(r"[^\w ./:=@%+,-]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_EXPANDED = re.compile(r"[-\w@*#?$!({]", re.ASCII)
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
    names_arguments, is_compound = _read_shell(text)
    if names_arguments:
        return ["sh", "-c", text, "sh"]
    if not args:
        return ["sh", "-c", text]
    if is_compound or first in _COMPOUND:
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


def _read_shell(text: str) -> tuple[bool, bool]:
    """Return whether a text says where its arguments go, and is more than one simple command."""
    names_arguments = is_compound = False
    open_parts: list[tuple[str, bool]] = []  # what closes each, and whether a word starts behind it
    place, starts_word = 0, True
    while place < len(text):
        char, size, is_operator = text[place], 1, False
        closing = open_parts[-1][0] if open_parts else None
        began_word, starts_word = starts_word, char in " \t\n;|&()"
        if char == closing:
            starts_word = open_parts.pop()[1]
        elif char == "\\":
            size = 2
        elif char == "$":
            names_arguments = names_arguments or _ARGUMENTS.match(text, place) is not None
            after = text[place + 1 : place + 2]
            if after in ("(", "{"):
                open_parts.append((")" if after == "(" else "}", False))
                starts_word = after == "("
            size = 2 if _EXPANDED.match(after) else 1
        elif char == "`" or (char in "('\"" and closing != '"'):
            is_operator = starts_word = char == "("
            if char == "'":
                size = text.find("'", place + 1) - place + 1
                if size <= 0:
                    raise _unclosed("'")
            else:
                open_parts.append((")" if char == "(" else char, char == "("))
                starts_word = char != '"'
        elif char == "#" and began_word and closing != '"':
            is_operator = starts_word = True
            size = (text + "\n").find("\n", place) - place
        elif closing != '"':
            is_redirection = char == "&" and text[place - 1 : place] in ("<", ">")
            is_operator = (char in ";|&\n" and not is_redirection) or text.startswith("<<", place)
        is_compound = is_compound or (is_operator and closing is None)
        place += size
    if open_parts:
        raise _unclosed(open_parts[-1][0])
    return names_arguments, is_compound


def _unclosed(closing: str) -> CommandError:
    return CommandError(f"in the command something is not closed: {closing} is missing")
