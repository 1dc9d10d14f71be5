"""What processes are given on their command lines: words, files of other steps, arguments."""

from __future__ import annotations

import dataclasses
import os
import re
import typing as t
from collections.abc import Iterator, Mapping

from couler.dsl.builder import Builder
from couler.dsl.checks import shown
from couler.dsl.handles import OutputHandle, Value, literal
from couler.dsl.scope import Draft, free_among, make_process_input
from couler.dsl.types import STR
from couler.ir.workflow import Input

if t.TYPE_CHECKING:
    from couler.dsl.locations import LocatedFile
    from couler.dsl.scope import Scope

INPUT_FOLDER = "/tmp/couler/inputs"
"""Where a container finds the files that its arguments name."""

_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_SHELL = re.compile(r"(?:.*/)?(?:sh|bash|dash|ash|ksh|zsh)")


def command_of(scope: Scope, draft: Draft, given: object, step: str) -> tuple[t.Any, ...]:
    """Return the words of a command; report what is neither a text nor a list."""
    if given is not None and not isinstance(given, str | list | tuple | Value):
        from couler.dsl.locations import LocatedFile

        if not isinstance(given, LocatedFile):
            scope.builder.report(
                "CLR105",
                f'step "{step}": command: {shown(given)} is neither a text nor a list of words',
                step=step,
            )
            return ()
    return words_of(scope, draft, given)


def words_of(scope: Scope, draft: Draft, given: object) -> tuple[t.Any, ...]:
    """Return words of a command line: text, and values of the workflow."""
    if given is None:
        return ()
    if type(given) is not list and not isinstance(given, list | tuple):
        given = (given,)
    words: list[t.Any] = []
    for word in given:
        if type(word) is str:
            words.append(word)
        elif isinstance(word, Value):
            listed = word._listed()
            if listed is None:
                words.append(_value_word(scope, draft, word))
            else:
                words += words_of(scope, draft, listed)
        elif isinstance(word, list | tuple):  # the outputs of another step, as a list
            words += words_of(scope, draft, word)
        else:
            from couler.dsl.locations import LocatedFile

            words.append(
                _located_word(scope, draft, word)
                if isinstance(word, LocatedFile)
                else _plain_word(word)
            )
    return tuple(words)


def _plain_word(word: object) -> str:
    """Return a word that is known as text; report one that has no JSON form."""
    from couler.dsl.environment import text_of

    return str(text_of(word if isinstance(word, str) else literal(word).value))


def _value_word(scope: Scope, draft: Draft, word: Value) -> t.Any:
    value = word if word._home is scope else scope.bring(word)
    if value._spec.wire not in ("file", "directory"):
        return value._ir()
    return _add_file(draft, value._hint(), value, _path_of(word))


def _located_word(scope: Scope, draft: Draft, file: LocatedFile, step: str | None = None) -> str:
    """Give a process a file from outside, and return the path where it finds it."""
    from couler.dsl.located import located_input

    placed = scope.builder.placed.get(id(file))
    if placed is not None:
        value = scope.bring(OutputHandle(placed[1], placed[2]))
        return _add_file(draft, value._hint(), value, file.path)
    taken = {one.name for one in draft.inputs}
    base = os.path.basename((file.path or "").strip().rstrip("/")).partition(".")[0]
    name = free_among(taken, re.sub(r"\W+", "_", base).lstrip("0123456789") or "data")
    given = located_input(scope, file, name, step, path=file.path or f"{INPUT_FOLDER}/{name}")
    return _take_in(draft, given, is_free=not file.path)


def _path_of(value: Value) -> str | None:
    """Return the absolute path where a step writes a file, if it is one."""
    if isinstance(value, OutputHandle):
        for output in value._draft.outputs:
            if output.name == value._output and output.path and output.path.startswith("/"):
                return output.path
    return None


def _add_file(
    draft: Draft, hint: str, value: Value, path: str | None, *, is_named: bool = False
) -> str:
    """Give a container a file of another step, and return the path where it finds it."""
    taken = {one.name for one in draft.inputs}
    base = re.sub(r"\W+", "_", hint, flags=re.ASCII)
    name = free_among(taken, f"_{base}" if base[:1].isdigit() else base)
    file_name = value._spec.file_name
    at = path or _free_path(name, file_name)
    given = make_process_input(name, value, value._spec).model_copy(update={"path": at})
    if is_named:  # the program may read it by that name
        draft.inputs = (*draft.inputs, given)
        return at
    return _take_in(draft, given, None if path else file_name, is_free=not path)


def _free_path(name: str, file_name: str | None) -> str:
    return os.path.join(INPUT_FOLDER, name, file_name or "").rstrip("/")


def _take_in(draft: Draft, given: Input, file_name: str | None = None, *, is_free: bool) -> str:
    """Add an input unless the process has the same file there already; return its path."""
    for one in draft.inputs:
        path = _free_path(one.name, file_name) if is_free else given.path
        if one == given.model_copy(update={"name": one.name, "path": path}):
            return str(path)
    draft.inputs = (*draft.inputs, given)
    return str(given.path)


def add_files(
    scope: Scope, draft: Draft, given: object, step: str, working_dir: str | None = None
) -> None:
    """Give a process files of other steps, as its argument `input` names them."""
    from couler.dsl.artifacts import Artifact
    from couler.dsl.locations import LocatedFile

    if isinstance(given, Mapping):
        folder = working_dir if isinstance(working_dir, str) else ""
        entries = [
            (os.path.normpath(os.path.join(folder, str(path))), value)
            for path, value in given.items()
        ]
    else:
        items = given if isinstance(given, list | tuple) else [given]
        entries = [("", item) for item in items]
    for key, item in entries:
        if isinstance(item, Artifact):
            continue  # the ancestor repeated the producer's declaration; it names no step
        if isinstance(item, LocatedFile):
            file = dataclasses.replace(item, path=key) if key else item
            _located_word(scope, draft, file, step)
            continue
        value = scope.bring(item) if isinstance(item, Value) else None
        if value is None or not value._spec.is_file:
            scope.builder.report(
                "CLR105",
                f'step "{step}": input: {shown(item)} is neither a file of a step nor a location '
                "such as couler.S3Artifact",
                step=step,
            )
            continue
        hint = os.path.basename(key) or value._hint()
        _add_file(draft, hint, value, key or _path_of(item), is_named=key != "")


def add_arguments(scope: Scope, draft: Draft, args: object) -> int:
    """Give a script its arguments as inputs, and return how many there are."""
    from couler.dsl.located import located_input
    from couler.dsl.locations import LocatedFile

    if args is None:
        return 0
    count = 0
    for arg in _arguments(args):
        if isinstance(arg, Value):
            value = scope.bring(arg)
            spec = value._spec if value._spec.is_file else STR
            given = make_process_input(f"arg_{count}", value, spec)
        elif isinstance(arg, LocatedFile):
            given = located_input(scope, arg, f"arg_{count}", None, path=arg.path)
            if draft.has(given):
                # The script has it there, but knows it by the number of the argument as well.
                given = given.model_copy(update={"path": None})
        else:
            given = Input(name=f"arg_{count}", value=literal(_plain_word(arg)))
        draft.inputs = (*draft.inputs, given)
        count += 1
    return count


def _arguments(given: object) -> Iterator[object]:
    """Yield arguments one by one; a list of outputs is each of them."""
    for arg in given if isinstance(given, list | tuple) else (given,):
        listed = arg._listed() if isinstance(arg, Value) else None
        if listed is not None:
            yield from listed
        elif isinstance(arg, list | tuple) and any(isinstance(one, Value) for one in arg):
            yield from _arguments(arg)
        else:
            yield arg


def with_arguments(
    builder: Builder, text: str, command: tuple[str, ...], count: int, step: str
) -> str:
    """Return a script that finds its inputs `arg_0`, `arg_1` ... where arguments are found."""
    from couler.dsl.shipping import python_preamble

    if count == 0:
        return text
    program = command[0] if command else ""
    if _PYTHON.fullmatch(program):
        names = ", ".join(f'"COULER_INPUT_arg_{index}"' for index in range(count))
        return python_preamble(
            text, f"import os, sys; sys.argv[1:] = [os.environ[name] for name in ({names},)]"
        )
    if _SHELL.fullmatch(program):
        words = " ".join(f'"$COULER_INPUT_arg_{index}"' for index in range(count))
        return f"set -- {words}\n{text}"
    builder.report(
        "CLR137",
        f'step "{step}": arguments can be given to scripts of Python and of shells, not of '
        f"{program}; the script can read them as COULER_INPUT_arg_0 and so on",
        step=step,
    )
    return text
