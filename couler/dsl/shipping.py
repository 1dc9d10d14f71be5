"""The script that runs a function somewhere else: its source, and what it needs to run."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import json
import linecache
import sys
import textwrap
import typing as t
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, ModuleType

from couler.dsl import _prelude
from couler.dsl._prelude import Directory, File
from couler.dsl.checks import shown
from couler.dsl.types import is_json

if t.TYPE_CHECKING:
    from couler.dsl.signature import Signature

AnyFunction: t.TypeAlias = Callable[..., t.Any]

_FUTURE = "from __future__ import annotations\n"
_FLAGS = 0x1000000  # CO_FUTURE_ANNOTATIONS: annotations are not evaluated
_BUILTINS = frozenset(dir(builtins)) | {
    "__annotations__",
    "__file__",
    "__module__",
    "__qualname__",
}


class ShippingError(Exception):
    """A function cannot be run elsewhere; carries the code of the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


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


def default_image() -> str:
    """Return the image of typed steps that name none: the Python that runs this program."""
    return f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"


def typed_script(function: AnyFunction, signature: Signature, *, stay: bool) -> str:
    """Return the script of a typed step."""
    name, source = _function_source(function)
    classes, imports = _class_sources(signature.classes, function)
    provided = {"File", "Directory", *classes}
    if name in _prelude_names() or any(cls in _prelude_names() for cls in classes):
        raise ShippingError("CLR125", "its name, or a class's, is one that the script uses itself")
    aliases = _check_names(function, source, provided)
    readers = ", ".join(f'"{one.name}": {one.spec.kind}' for one in signature.arguments.values())
    arguments = [name, f"{{{readers}}}", signature.kinds, *(["stay=True"] if stay else [])]
    call = f"_run({', '.join(arguments)})"
    used = _names_in(call).union(*map(_names_of, (source, *classes.values())))
    parts = [
        f"# The function {name} as a step.\n{_FUTURE}\n{_prelude_for(used)}",
        *(["\n".join(imports)] if imports else []),
        *classes.values(),
        *(["\n".join(aliases)] if aliases else []),
        source,
        f'if __name__ == "__main__":\n    {call}',
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def plain_script(function: AnyFunction) -> str:
    """Return a script that calls a function without arguments, or with those of a partial."""
    called, bound = function, ""
    if isinstance(called, functools.partial):
        function, bound = called.func, _bound_arguments(called)
    if is_method(function):
        raise ShippingError("CLR109", METHOD)
    name, source = _function_source(function)
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
    _check_names(function, source, set())
    future = _FUTURE + "\n\n" if getattr(function, "__annotations__", None) else ""
    return f"{future}{source}\n\n{name}({bound})\n"


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


def python_preamble(text: str, line: str) -> str:
    """Put a line into a Python script: after its docstring and `from __future__` imports."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return line + text
    end = 0
    for index, node in enumerate(body):
        is_docstring = index == 0 and isinstance(node, ast.Expr)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (is_docstring or is_future):
            break
        end = node.end_lineno or 0
    lines = text.splitlines(keepends=True)
    if end and not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    return "".join([*lines[:end], line, *lines[end:]])


def _function_source(function: AnyFunction) -> tuple[str, str]:
    """Return a function's name and its source, from `def` on and without indentation."""
    if not inspect.isfunction(function):
        if hasattr(function, "__wrapped__"):
            raise ShippingError(
                "CLR124",
                "another decorator stands between it and couler.step, and is not shipped with it",
            )
        raise ShippingError("CLR110", f"{shown(function)} is no function written in Python")
    if inspect.isgeneratorfunction(function):  # a call of it would run nothing
        raise ShippingError("CLR110", "it is a generator (it has a yield); return a list")
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError, IndentationError) as error:
        raise ShippingError(
            "CLR110", "its source cannot be found; write it in a file or a notebook's cell"
        ) from error
    if function.__name__ == "<lambda>":
        return "function", f"function = {_lambda_source(function)}\n"
    try:
        node = ast.parse(text).body[0]
    except (SyntaxError, IndexError) as error:
        raise ShippingError("CLR110", f"its source cannot be read: {error}") from error
    if not isinstance(node, ast.FunctionDef):
        kind = "asynchronous" if isinstance(node, ast.AsyncFunctionDef) else "no plain function"
        raise ShippingError("CLR110", f"it is {kind}; a step runs a plain function")
    if len(node.decorator_list) > 1:
        others = [ast.unparse(one) for one in node.decorator_list]
        raise ShippingError(
            "CLR124", f"only one decorator is allowed, as others are not shipped: {others}"
        )
    lines = text.splitlines(keepends=True)[node.lineno - 1 : node.end_lineno]
    return node.name, "".join(lines).rstrip() + "\n"


def _lambda_source(function: AnyFunction) -> str:
    """Return the lambda of a file that has this function's code, by the places of its parts."""
    code = function.__code__
    places = [
        ((first, start), (last, end))
        for first, last, start, end in code.co_positions()
        if first is not None and last is not None and start is not None and end is not None
    ]
    tree = ast.parse("".join(inspect.findsource(function)[0]))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and any(place == _span(node.body) for place in places)
    ]
    if len(found) != 1:
        raise ShippingError("CLR110", "a lambda whose source is not clear; use def")
    return ast.unparse(found[0])


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _class_sources(
    classes: tuple[type, ...], function: AnyFunction
) -> tuple[dict[str, str], list[str]]:
    """Return the sources of classes by name, and the imports that they need."""
    sources: dict[str, str] = {}
    imports: dict[str, None] = {}
    known = {"File", "Directory", *(cls.__name__ for cls in classes)}
    for cls in classes:
        source = _class_source(cls)
        sources[cls.__name__] = source
        module = sys.modules.get(cls.__module__)
        scope = {**function.__globals__, **(vars(module) if module else {})}
        for name in sorted(_names_of(source) - known - _BUILTINS):
            line = _import_line(name, scope.get(name))
            if line is None:
                raise ShippingError(
                    "CLR122",
                    f"the class {cls.__name__} uses {name}, which the script does not have",
                )
            imports[line] = None
    return sources, list(imports)


def _class_source(cls: type) -> str:
    try:
        source: str | None = textwrap.dedent(inspect.getsource(cls)).rstrip() + "\n"
    except (OSError, TypeError):
        source = None
    if source is None or f"class {cls.__name__}" not in source:  # defined in a notebook
        source = _class_in_cells(cls.__name__)
    if source is None:
        raise ShippingError("CLR110", f"the source of the class {cls.__name__} cannot be found")
    return source


def _class_in_cells(name: str) -> str | None:
    """Look for a class in the cells of a notebook, the last one first."""
    for entry in reversed(list(linecache.cache.values())):
        lines = entry[2] if len(entry) > 2 else []
        text = "".join(lines)
        if f"class {name}" not in text:
            continue
        try:
            body = ast.parse(text).body
        except SyntaxError:
            continue
        for node in reversed(body):
            if isinstance(node, ast.ClassDef) and node.name == name:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                return "".join(lines[first - 1 : node.end_lineno]).rstrip() + "\n"
    return None


def _import_line(name: str, value: object) -> str | None:
    """Return the import that gives a name of the standard library."""
    is_module = isinstance(value, ModuleType)
    module = str(getattr(value, "__name__" if is_module else "__module__", ""))
    attribute = str(getattr(value, "__name__", ""))
    if module.partition(".")[0] not in sys.stdlib_module_names or not attribute:
        return None
    if is_module:
        return f"import {module}" if module == name else f"import {module} as {name}"
    return f"from {module} import {attribute}" + ("" if attribute == name else f" as {name}")


def _check_names(function: AnyFunction, source: str, provided: set[str]) -> list[str]:
    """Refuse names that the script would not have; return lines that give others a new name."""
    aliases = []
    for name in sorted(_names_of(source) - provided - _BUILTINS):
        value = function.__globals__.get(name)
        if provided and (value is File or value is Directory):
            aliases.append(f"{name} = {value.__name__}")
        elif name in function.__code__.co_freevars:
            raise ShippingError(
                "CLR123",
                f"it uses {name} of the function around it, which is not shipped; "
                "make it an argument",
            )
        elif isinstance(value, ModuleType):
            raise ShippingError("CLR122", _unshipped_module(name, value, source))
        else:
            raise ShippingError(
                "CLR122",
                f"it uses {name}, which is not shipped with it; make it an argument, or define "
                "or import it inside the function",
            )
    return aliases


def _unshipped_module(name: str, module: ModuleType, source: str) -> str:
    if module.__name__ != "couler":
        return f"it uses the module {name}; import it inside the function"
    used = sorted(
        {
            node.attr
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
        }
    )
    text = f"it uses {' and '.join(f'{name}.{one}' for one in used) or name}"
    if used and {"File", "Directory"}.issuperset(used):
        names = ", ".join(used)
        return (
            f"{text}, but {name} is not where the step runs; write `from couler import {names}` at "
            f"the top of the program, and {names} in the function: they are shipped with it"
        )
    return (
        f"{text}, but {name} is not where the step runs; a step cannot make others. Call them "
        "where the workflow is built"
    )


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


def _names_of(source: str) -> set[str]:
    """Return the global names that a piece of source reads and does not define itself."""
    code = compile(source, "<step>", "exec", flags=_FLAGS, dont_inherit=True)
    read: set[str] = set()
    defined: set[str] = set()
    for name, is_definition in _global_uses(t.cast(CodeType, code)):
        (defined if is_definition else read).add(name)
    return read - defined


def _global_uses(code: CodeType) -> Iterator[tuple[str, bool]]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield instruction.argval, False
        elif instruction.opname in ("STORE_GLOBAL", "STORE_NAME"):
            yield instruction.argval, True
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_uses(constant)


class _Part(t.NamedTuple):
    """A top-level statement of the prelude."""

    text: str
    defines: str
    uses: frozenset[str]
    is_import: bool


@functools.cache
def _prelude_parts() -> tuple[_Part, ...]:
    """Return the statements of the prelude after its docstring and `from __future__` line."""
    source = inspect.getsource(_prelude)
    lines = source.splitlines()
    parts = []
    for node in ast.parse(source).body[2:]:
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.Import):
            parts.append(_Part(text, node.names[0].name, frozenset(), True))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            parts.append(_Part(text, node.name, _names_in(text), False))
    return tuple(parts)


@functools.cache
def _prelude_names() -> frozenset[str]:
    return frozenset(part.defines for part in _prelude_parts())


def own_text(script: str) -> str:
    """Return a script without the parts of the prelude in it: what the program's author wrote."""
    for part in _prelude_parts():
        if not part.is_import:
            script = script.replace(f"\n\n\n{part.text}", "")
    return script


def _prelude_for(names: Iterable[str]) -> str:
    """Return the parts of the prelude that some names need, in their order."""
    parts = {part.defines: part for part in _prelude_parts()}
    needed: set[str] = set()
    waiting = [name for name in names if name in parts]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [other for other in parts[name].uses if other in parts]
    kept = [part for part in parts.values() if part.defines in needed]
    imports = "\n".join(part.text for part in kept if part.is_import)
    return "\n\n\n".join([imports, *(part.text for part in kept if not part.is_import)])


def _names_in(source: str) -> frozenset[str]:
    """Return the names that a piece of source reads, but for annotations."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
