"""The script that runs a function somewhere else: its source, and what it needs to run."""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import functools
import inspect
import itertools
import json
import re
import sys
import typing as t
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType

from couler.dsl import _prelude
from couler.dsl._prelude import Directory, File
from couler.dsl.checks import shown
from couler.dsl.sources import (
    SourceError,
    class_source,
    definition_of,
    lambda_source,
    names_around,
    read_source,
    refuse_other_code,
    unindented,
)
from couler.dsl.types import class_name, is_json

if t.TYPE_CHECKING:
    from couler.dsl.signature import Signature

AnyFunction: t.TypeAlias = Callable[..., t.Any]

_FUTURE = "from __future__ import annotations\n"
_FLAG = __future__.annotations.compiler_flag
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


def typed_script(function: AnyFunction, signature: Signature, text: str, *, stay: bool) -> str:
    """Return the script of a typed step, whose file had this text when it was defined."""
    name, source = _function_source(function, text)
    flags = function.__code__.co_flags & _FLAG
    for cls in signature.classes:
        flags |= _FLAG if names_around(cls).get("annotations") is __future__.annotations else 0
    classes, imports = _class_sources(signature.classes, function, text, flags)
    provided = {"File", "Directory", *classes}
    if any(part.defines in (name, *classes) for part in _prelude_parts()):
        raise ShippingError("CLR125", "its name, or a class's, is one that the script uses itself")
    if not flags:
        source = _quoted(source, lambda name: _is_there(name, function.__globals__, classes))
    aliases = _check_names(function, source, provided, flags)
    _check_code(function, source, text, flags)
    imports |= _imports_for_fields(source, function.__globals__)
    readers = ", ".join(f'"{one.name}": {one.spec.kind}' for one in signature.arguments.values())
    arguments = [name, f"{{{readers}}}", signature.kinds, *(["stay=True"] if stay else [])]
    call = f"_run({', '.join(arguments)})"
    used = set().union(*(_names_of(one, flags) for one in (call, source, *classes.values())))
    parts = [
        f"# The function {name} as a step.\n{_FUTURE if flags else ''}\n{_prelude_for(used)}",
        *(["\n".join(imports)] if imports else []),
        *classes.values(),
        *(["\n".join(aliases)] if aliases else []),
        source,
        f'if __name__ == "__main__":\n    {call}',
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _quoted(source: str, is_there: Callable[[str], bool]) -> str:
    """Return a source whose annotations are text where they use names that are not there."""
    lines = source.split("\n")
    for one in sorted(
        _annotations(ast.parse(source)), key=lambda one: (-one.lineno, -one.col_offset)
    ):
        if all(is_there(part.id) for part in ast.walk(one) if isinstance(part, ast.Name)):
            continue
        last = (one.end_lineno or one.lineno) - 1
        start = lines[one.lineno - 1].encode()[: one.col_offset].decode()
        rest = lines[last].encode()[one.end_col_offset :].decode()
        lines[one.lineno - 1 : last + 1] = [
            f"{start}{ast.unparse(one)!r}{rest}",
            *[""] * (last + 1 - one.lineno),  # what follows stays in its line
        ]
    return "\n".join(lines)


def _annotations(tree: ast.Module | ast.ClassDef) -> Iterator[ast.expr]:
    """Yield the annotations that are evaluated as a function or class is defined."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _annotations(node)
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            all_of = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
            found = [one.annotation for one in all_of if one is not None] + [node.returns]
            yield from (one for one in found if one is not None)


def plain_script(function: AnyFunction) -> str:
    """Return a script that calls a function without arguments, or with those of a partial."""
    called, bound = function, ""
    if isinstance(called, functools.partial):
        function, bound = called.func, _bound_arguments(called)
    if is_method(function):
        raise ShippingError("CLR109", METHOD)
    text = source_text(function)
    name, source = _function_source(function, text)
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
    flags = function.__code__.co_flags & _FLAG
    if not flags:
        source = _quoted(source, lambda name: _is_builtin(name, function.__globals__))
    _check_names(function, source, set(), flags)
    _check_code(function, source, text, flags)
    imports = "\n".join(_imports_for_fields(source, function.__globals__))
    future = _FUTURE if flags and (imports or getattr(function, "__annotations__", None)) else ""
    return f"{future}{imports}\n\n{source}\n\n{name}({bound})\n".lstrip("\n")


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
    if not isinstance(function, FunctionType):
        return ""
    return read_source(function.__code__.co_filename, function.__globals__)


def _function_source(function: AnyFunction, text: str) -> tuple[str, str]:
    """Return a function's name and its source, from `def` on and without indentation."""
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        code = getattr(function, "__code__", None)
        maker = "" if code is None else f" ({code.co_qualname.partition('.<locals>')[0]})"
        raise ShippingError(
            "CLR124",
            f"another decorator{maker} stands between it and couler.step, and is not shipped with "
            "it",
        )
    if not isinstance(function, FunctionType):
        raise ShippingError("CLR110", f"{shown(function)} is no function written in Python")
    if inspect.isgeneratorfunction(function):  # a call of it would run nothing
        raise ShippingError("CLR110", "it is a generator (it has a yield); return a list")
    if not text:
        raise ShippingError(
            "CLR110", "its source cannot be found; write it in a file or a notebook's cell"
        )
    try:
        if function.__code__.co_name == "<lambda>":
            name, source = "function", f"function = {lambda_source(function, text)}\n"
        else:
            node = definition_of(function, text)
            name = function.__code__.co_name
            if isinstance(node, ast.AsyncFunctionDef):
                raise ShippingError("CLR110", "it is asynchronous; a step runs a plain function")
            if len(node.decorator_list) > 1:
                others = [ast.unparse(one) for one in node.decorator_list]
                raise ShippingError(
                    "CLR124", f"only one decorator is allowed, as others are not shipped: {others}"
                )
            source = unindented(text, node, node.lineno)
    except SourceError as error:
        raise ShippingError("CLR110", str(error)) from error
    return name, source


def _check_code(function: AnyFunction, source: str, text: str, flags: int) -> None:
    """Refuse a source that is not what runs."""
    own = function.__code__.co_flags & _FLAG
    try:
        for given in dict.fromkeys((own, flags)):
            refuse_other_code(t.cast("FunctionType", function), source, text, given)
    except SourceError as error:
        raise ShippingError(
            "CLR110",
            str(error)
            if given == own
            else "its file has no `from __future__ import annotations`, and that of a class in its "
            "signature has; write the line in both or in none",
        ) from error


def _class_sources(
    classes: tuple[type, ...], function: AnyFunction, text: str, flags: int
) -> tuple[dict[str, str], dict[str, None]]:
    """Return the sources of classes by their names in the script, and the imports they need."""
    sources: dict[str, str] = {}
    imports: dict[str, None] = {}
    texts = {str(function.__globals__.get("__file__")): text}
    plain = Counter(cls.__name__ for cls in classes)

    def is_there(name: str, names: Mapping[str, t.Any]) -> bool:
        is_known = _is_there(name, names, plain)
        return is_known or _import_line(name, names.get(name)) is not None

    for cls in classes:
        name = class_name(cls)
        names = {**function.__globals__, **names_around(cls)}
        try:
            source = class_source(cls, texts)
        except SourceError as error:
            raise ShippingError("CLR110", str(error)) from error
        if not flags:
            source = _quoted(source, functools.partial(is_there, names=names))
        for used in sorted(_names_of(source, flags) - {"File", "Directory"}):
            if used in plain or _is_builtin(used, names):
                continue
            line = _import_line(used, names.get(used))
            if line is None:
                raise ShippingError(
                    "CLR122",
                    f"the class {cls.__name__} uses {used}, which the script does not have",
                )
            imports[line] = None
        imports |= _imports_for_fields(source, names)
        if name in sources:
            raise ShippingError("CLR125", f"two classes are named {name}; rename one of them")
        sources[name] = source + ("" if name == cls.__name__ else f"\n\n{name} = {cls.__name__}\n")
    twice = {name for name, count in plain.items() if count > 1}
    for name in sorted(twice & _names_of("".join(sources.values()), flags)):
        raise ShippingError("CLR125", f"two classes are named {name}; rename one of them")
    return sources, imports


def _is_there(name: str, names: Mapping[str, t.Any], classes: Container[str]) -> bool:
    """Return whether the script of a step knows a name of a module."""
    return (
        name in classes
        or any(names.get(name) is one for one in (File, Directory))
        or _is_builtin(name, names)
    )


def _is_builtin(name: str, names: Mapping[str, t.Any]) -> bool:
    """Return whether a name means in a module what it means without it."""
    return name in _BUILTINS and (
        name.startswith("__") or name not in names or names[name] is getattr(builtins, name, ...)
    )


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


def _imports_for_fields(source: str, names: Mapping[str, t.Any]) -> dict[str, None]:
    """Return imports of what annotations name: dataclasses look for ClassVar in the module."""
    used = {
        name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.AnnAssign)
        for name in re.findall(r"\w+", ast.unparse(node.annotation))
    }
    return dict.fromkeys(filter(None, (_import_line(one, names.get(one)) for one in sorted(used))))


def _check_names(function: AnyFunction, source: str, provided: set[str], flags: int) -> list[str]:
    """Refuse names that the script would not have; return lines that give others a new name."""
    aliases, around, unknown, modules = [], [], [], []
    for name in sorted(_names_of(source, flags) - provided):
        value = function.__globals__.get(name)
        if _is_builtin(name, function.__globals__) or _is_made_by(name, function):
            continue
        if provided and (value is File or value is Directory):
            aliases.append(f"{name} = {value.__name__}")
        elif name in function.__code__.co_freevars:
            around.append(name)
        elif isinstance(value, ModuleType):
            modules.append(_unshipped_module(name, value, source))
        else:
            unknown.append(name)
    if around:
        raise ShippingError("CLR123", _unshipped(around, " of the function around it", "", ""))
    if unknown:
        it = "it" if len(unknown) == 1 else "them"
        instead = f", or define or import {it} inside the function"
        modules.insert(0, _unshipped(unknown, "", " with it", instead))
    if modules:
        raise ShippingError("CLR122", "; ".join(modules))
    return aliases


def _unshipped(names: list[str], where: str, how: str, instead: str) -> str:
    is_one = len(names) == 1
    return (
        f"it uses {', '.join(names)}{where}, which {'is' if is_one else 'are'} not shipped{how}; "
        f"make {'it an argument' if is_one else 'them arguments'}{instead}"
    )


def _is_made_by(name: str, function: AnyFunction) -> bool:
    """Return whether a function itself makes a global name, by `global`."""
    return name not in function.__globals__ and (
        (name, "STORE_GLOBAL") in _global_uses(function.__code__)
    )


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


def _names_of(source: str, flags: int) -> set[str]:
    """Return the global names that a piece of source reads and does not define itself."""
    code = t.cast("CodeType", compile(source, "<step>", "exec", flags=flags, dont_inherit=True))
    own = {name for name, way in _global_uses(code, within=False) if way == "STORE_NAME"}
    return {name for name, way in _global_uses(code) if way != "STORE_NAME"} - own


def _global_uses(code: CodeType, *, within: bool = True) -> set[tuple[str, str]]:
    """Return the names that code reads and makes outside of functions, with the instructions.

    What the body of a class makes is no global, and what it reads of that neither.
    """
    used = {
        (instruction.argval, instruction.opname)
        for instruction in dis.get_instructions(code)
        if instruction.opname.endswith(("_GLOBAL", "_NAME", "FROM_DICT_OR_GLOBALS"))
        and not instruction.opname.startswith("IMPORT")
    }
    made = {name for name, way in used if way == "STORE_NAME"}
    used = {(name, way) for name, way in used if way == "STORE_NAME" or name not in made}
    for constant in code.co_consts if within else ():
        if isinstance(constant, CodeType):
            used |= {one for one in _global_uses(constant) if one[1] != "STORE_NAME"}
    return used


class _Part(t.NamedTuple):
    """A top-level statement of the prelude."""

    text: str
    defines: str
    uses: set[str]
    is_import: bool


@functools.cache
def _prelude_parts() -> tuple[_Part, ...]:
    """Return the statements of the prelude after its docstring."""
    source = inspect.getsource(_prelude)
    lines = source.splitlines()
    parts = []
    for node in ast.parse(source).body[1:]:
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.Import):
            parts.append(_Part(text, node.names[0].name, set(), True))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            parts.append(_Part(text, node.name, _names_of(text, 0), False))
    return tuple(parts)


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
    waiting = [*names]
    for name in waiting:  # which grows
        if name in parts and name not in needed:
            needed.add(name)
            waiting += parts[name].uses
    kept = [part for part in parts.values() if part.defines in needed]
    imports = "\n".join(part.text for part in kept if part.is_import)
    return "\n\n\n".join([imports, *(part.text for part in kept if not part.is_import)])
