"""The script that runs a function somewhere else: its source, and what it needs to run."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import itertools
import json
import os
import re
import sys
import typing as t
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, ModuleType

from couler.dsl.checks import shown
from couler.dsl.slicing import ShippingError, Slice
from couler.dsl.sources import SourceError, parsed, read_source
from couler.dsl.statements import BUILTINS, names_of
from couler.dsl.types import class_name, is_json
from couler.ir.glue import FUTURE, MARK, glue_of
from couler.ir.imports import bindings
from couler.ir.workflow import FunctionCall, NamedType, Script

if t.TYPE_CHECKING:
    from couler.dsl.signature import Signature

AnyFunction: t.TypeAlias = Callable[..., t.Any]


METHOD = (
    "it is a method, and its object does not travel to where the step runs; "
    "write it as a function outside of the class, with the values that it needs as arguments"
)


def is_method(function: object) -> bool:
    """Return whether a function is bound to an object or class, or is written to be."""
    if inspect.ismethod(function):
        return True
    if not inspect.isfunction(function) or function.__code__.co_argcount == 0:
        return False
    around = function.__qualname__.rpartition(".")[0]
    in_class = around != "" and not around.endswith("<locals>")
    return in_class and function.__code__.co_varnames[0] in ("self", "cls")


def typed_script(
    function: AnyFunction,
    signature: Signature,
    text: str,
    local_names: Mapping[str, t.Any] | None,
    *,
    stay: bool,
) -> Script:
    """Return the script of a typed step, whose file had this text when it was defined."""
    piece, name = _slice(function, text, local_names)
    for cls in signature.classes:
        _take_class(piece, cls)
    _refuse_two_of_a_name(signature.classes)
    source = piece.text()
    returns = signature.returns
    call = FunctionCall(
        arguments=tuple(
            NamedType(name=one.name, type=one.spec.data) for one in signature.arguments.values()
        ),
        outputs=tuple(NamedType(name=key, type=of.data) for key, of in returns.specs.items()),
        is_record=returns.is_record,
        stay=stay,
        file=_file_name(function),
        lines=tuple(piece.lines.items()),
    )
    script = Script(
        image="", source=(FUTURE if piece.flags else "") + source, function=name, call=call
    )
    for mark in MARK.finditer(source):
        raise ShippingError("CLR125", f'the line "{mark[0]}" is one that the script uses itself')
    used = names_of(glue_of(script), 0) & BUILTINS & bindings(source).keys()
    for taken in sorted(used):
        raise ShippingError("CLR125", f"{taken} is a name that the script uses itself; rename it")
    return script


def _file_name(function: AnyFunction) -> str:
    """Return the file of a function, from where it is imported, for tracebacks."""
    plain = inspect.unwrap(function)
    name = os.path.basename(plain.__code__.co_filename)
    around = plain.__module__.replace(".", "/").rpartition("/")
    return "".join(around[:2]) + name if name.endswith(".py") else "notebook"


def _slice(
    function: AnyFunction, text: str, local_names: Mapping[str, t.Any] | None = None
) -> tuple[Slice, str]:
    """Return what travels of the file of a function, and the function's name in it."""
    plain: t.Any = inspect.unwrap(function)
    if not isinstance(plain, FunctionType):
        raise ShippingError("CLR110", f"{shown(function)} is no function written in Python")
    if inspect.isgeneratorfunction(plain):  # a call of it would run nothing
        raise ShippingError("CLR110", "it is a generator (it has a yield); return a list")
    if inspect.iscoroutinefunction(plain):
        raise ShippingError("CLR110", "it is asynchronous; a step runs a plain function")
    if not text:
        raise ShippingError(
            "CLR110", "its source cannot be found; write it in a file or a notebook's cell"
        )
    try:
        whole, text = _with_other_cells(plain, text)
        piece = Slice(whole.__globals__, text, whole, local_names)
        name = piece.take_function()
    except SourceError as error:
        raise ShippingError("CLR110", str(error)) from error
    except RecursionError:
        raise ShippingError("CLR110", "what it uses is nested too deep to be followed") from None
    if plain is not function and not piece.is_decorated:
        code = getattr(function, "__code__", None)
        maker = "" if code is None else f" ({code.co_qualname.partition('.<locals>')[0]})"
        raise ShippingError(
            "CLR124",
            f"another function wraps it{maker}, by a call; write that as a decorator of it",
        )
    return piece, name


def is_of_notebook(function: object) -> bool:
    """Return whether a function is defined in a cell of a notebook."""
    code = getattr(function, "__code__", None)
    return code is not None and "ipykernel_" in code.co_filename


def _with_other_cells(function: FunctionType, text: str) -> tuple[FunctionType, str]:
    """Return the function of a notebook's cell as if all cells so far were one file, with it."""
    shell = function.__globals__.get("get_ipython")
    if not is_of_notebook(function) or shell is None:
        return function, text
    cells = [one.rstrip("\n") + "\n" for one in shell().history_manager.input_hist_parsed[1:]]
    own = max((at for at, one in enumerate(cells) if one == text.rstrip("\n") + "\n"), default=None)
    if own is None:
        return function, text
    for at, one in enumerate(cells):
        try:
            parsed(one)
        except SourceError:  # which the kernel has refused as well
            cells[at] = "\n" * one.count("\n")
    code = function.__code__
    first = code.co_firstlineno + sum(one.count("\n") for one in cells[:own])
    moved = FunctionType(
        code.replace(co_firstlineno=first),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    moved.__kwdefaults__, moved.__module__ = function.__kwdefaults__, function.__module__
    return moved, "".join(cells)


def _take_class(piece: Slice, cls: type) -> None:
    """Take a class, under the name that scripts call it by."""
    name, path = class_name(cls), cls.__qualname__.rpartition("<locals>.")[2]
    ways = [path]
    for given, value in piece.values.items():
        ways += [given] if value is cls else []
        ways += [f"{given}.{path}"] if isinstance(value, ModuleType) else []
    way = next((one for one in ways if _value_at(piece.values, one) is cls), None)
    if way is None and _value_at(vars(sys.modules.get(cls.__module__, builtins)), path) is cls:
        root = path.partition(".")[0]
        piece.take_line(f"from {cls.__module__} import {root}")
        way = path
    if way is None:
        raise ShippingError(
            "CLR110",
            f"the class {cls.__name__} is under no name where the function is defined; define it "
            "in the file, or import it there",
        )
    if way == name:
        piece.take([name])
    elif piece.values.get(name, cls) is cls:
        piece.take_line(f"{name} = {way}")
    else:
        raise ShippingError("CLR125", f"two classes are named {name}; rename one of them")


def _value_at(values: Mapping[str, t.Any], path: str) -> object:
    first, *rest = path.split(".")
    value = values.get(first)
    for one in rest:
        value = getattr(value, one, None)
    return value


def _refuse_two_of_a_name(classes: Iterable[type]) -> None:
    known: dict[str, type] = {}
    for cls in classes:
        if known.setdefault(class_name(cls), cls) is not cls:
            raise ShippingError(
                "CLR125", f"two classes are named {class_name(cls)}; rename one of them"
            )


def plain_script(function: AnyFunction) -> str:
    """Return a script that calls a function without arguments, or with those of a partial."""
    called, bound = function, ""
    if isinstance(called, functools.partial):
        function, bound = called.func, _bound_arguments(called)
    if is_method(function):
        raise ShippingError("CLR109", METHOD)
    piece, name = _slice(function, source_text(function))
    required = [
        parameter.name
        for parameter in inspect.signature(called).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if required:
        raise ShippingError(
            "CLR109",
            f"nothing gives it its arguments ({', '.join(required)}); make it a @couler.step",
        )
    source = piece.text()
    files = sorted({"File", "Directory"} & names_of(source, piece.flags))
    if files:
        raise ShippingError(
            "CLR122", f"it uses {' and '.join(files)} of couler; make it a @couler.step"
        )
    return f"{FUTURE if piece.flags else ''}{source}\n\n{name}({bound})\n"


def _bound_arguments(function: functools.partial[t.Any]) -> str:
    """Return the arguments of a partial as Python text."""
    values = (*function.args, *function.keywords.values())
    wrong = next((one for one in values if not is_json(one)), None)
    if wrong is not None:
        raise ShippingError(
            "CLR109",
            f"its argument {wrong!r:.60} has no JSON form that a script could hold; make it a "
            "@couler.step, which takes values of the workflow and files",
        )
    texts = [
        repr(json.loads(json.dumps(one))) for one in values
    ]  # plain, also for an enum's member
    names = [*("" for _ in function.args), *(f"{name}=" for name in function.keywords)]
    return ", ".join(name + text for name, text in zip(names, texts, strict=True))


def python_preamble(text: str, statement: str) -> str:
    """Put a simple statement into a script: after its docstring and `from __future__` imports."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        tree = ast.Module([], [])
    start = int(ast.get_docstring(tree, clean=False) is not None)
    front = [
        *tree.body[:start],
        *itertools.takewhile(
            lambda node: isinstance(node, ast.ImportFrom) and node.module == "__future__",
            tree.body[start:],
        ),
    ]
    if not front:
        return f"{statement}\n{text}"
    last = front[-1]
    lines = re.split("\r\n|\r|\n", text)  # those that Python counts
    line = lines[(last.end_lineno or 1) - 1].encode()
    before, after = line[: last.end_col_offset].decode(), line[last.end_col_offset :].decode()
    lines[(last.end_lineno or 1) - 1] = (
        f"{before}; {statement}{after}"
        if after.lstrip().startswith(";")
        else f"{before}{after}\n{statement}"
    )
    return "\n".join(lines)


def source_text(function: object) -> str:
    """Return the text of the file that a function is written in, as it is now."""
    function = inspect.unwrap(t.cast("AnyFunction", function))
    if not isinstance(function, FunctionType):
        return ""
    return read_source(function.__code__.co_filename, function.__globals__)


def makes_steps(function: object) -> bool:
    """Whether a function reads something of Couler that is only where workflows are built."""
    given = getattr(function, "fn", function)
    given = getattr(given, "func", given)
    if not inspect.isfunction(given):
        return False
    names = set(given.__code__.co_names)
    if names & {"File", "Directory"}:
        return False
    return any(getattr(given.__globals__.get(name), "__name__", "") == "couler" for name in names)
