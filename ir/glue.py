"""The script of a typed step: what its author wrote, and the lines that call its function.

The lines are written for the signature: they read the inputs that the step has, call the function,
check what it returns and write the outputs.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import sys
import typing as t
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from couler.ir.imports import bindings, imports_of
from couler.ir.semantics import NUMBER_TYPES
from couler.ir.values import is_file
from couler.ir.walk import all_steps, map_steps
from couler.ir.workflow import STDOUT, WORK_DIR, DataType, FunctionCall, Script, Step, Workflow

FUTURE = "from __future__ import annotations\n"
_TYPES = {
    "int": ["int"],
    "float": ["int", "float"],
    "bool": ["bool"],
    "list": ["list", "tuple"],
    "tuple": ["list", "tuple"],
    "dict": ["dict"],
}
_MODULES = (
    "__future__|dataclasses|enum|io|itertools|json|linecache|os|pathlib|re|shutil|sys|tempfile"
    "|traceback|uuid"
)
HandsOn: t.TypeAlias = t.Literal["files", "items", "xcom"]
"""How outputs are handed on: as files; as files that Argo gathers of the items of a foreach, with
all but numbers as JSON texts of JSON; as one object of texts in the file that Airflow reads."""
_CALL = "\n\nrun(__import__('sys').argv[1])\n"
_READ = """\
    text = pathlib.Path(script).read_text("utf-8")
"""
_WRITE = """\
    import signal
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # PID 1 has no default action
    text, script = script, work + ".py"
    pathlib.Path(script).write_text(text, "utf-8")
"""
MARK = re.compile(r"^# From .+:[0-9]+$", re.MULTILINE)
"""Tells where a part of a script is from; no line of a function may look so."""
_OWN = "own__"
"""Before names of the source, until those of the glue are known not to be the same."""
_WIDEST = 96
"""Most characters of a line in the block of the call."""


def with_scripts(
    workflow: Workflow, way: Callable[[Step], HandsOn] = lambda _: "files"
) -> Workflow:
    """Return a workflow whose scripts have all lines that run their functions."""
    functions = [step for step in all_steps(workflow) if _is_function(step)]
    if not functions:
        return workflow

    def parts(step: Step) -> tuple[str, frozenset[str]]:
        assert isinstance(step.action, Script)
        names = tuple(one.name for one in step.inputs)
        files = tuple((one.name, one.many) for one in step.inputs if is_file(one.type))
        hands_on = way(step)
        return script_parts(step.action, names, hands_on, files if hands_on == "xcom" else ())

    shared: dict[bool, frozenset[str]] = {True: frozenset(), False: frozenset()}
    for step in functions:
        shared[way(step) == "xcom"] |= parts(step)[1]

    def change(step: Step) -> Step:
        action = step.action
        if not isinstance(action, Script) or action.call is None:
            return step
        command = action.command
        if action.runs_function:
            is_xcom = way(step) == "xcom"
            needs = shared[is_xcom] | {"xcom" if is_xcom else "files"}
            run = run_text(needs - {"chdir"} if action.call.stay else needs | {"chdir"})
            command = (*command, "-c", taking_text(run) if is_xcom else run)
        changed = {"source": parts(step)[0], "command": command}
        return step.model_copy(update={"action": action.model_copy(update=changed)})

    return map_steps(workflow, change)


def _is_function(step: Step) -> bool:
    return type(step.action) is Script and step.action.call is not None


@functools.lru_cache(maxsize=256)
def script_parts(
    script: Script,
    names: tuple[str, ...],
    hands_on: HandsOn = "files",
    files: tuple[tuple[str, bool], ...] = (),
) -> tuple[str, frozenset[str]]:
    """Return the script of a function with some inputs, some taken as files; helpers it calls."""
    if script.call is None:
        return script.source, frozenset()
    return _Glue(script, script.call, frozenset(names), hands_on, files).text()


@functools.cache
def run_text(needs: frozenset[str] = frozenset(("files", "chdir"))) -> str:
    """Return what runs the script that is its argument.

    It has the helpers that are needed, and of each the lines that are: `files` or `xcom`, where
    outputs are written; `chdir`, where scripts run in the work folder; `modules` and `future`,
    where they have modules of the project or such an import; `of`, `gathered` and `json`, where
    outputs are lists of one type, are gathered, or hold texts in JSON; `many` and `folders`, where
    inputs are lists of files, and where some are folders.
    """
    texts = [text for name, text in _helper_texts().items() if name in needs or name == "run"]
    return "\n\n".join(_with_imports(_needed(text, needs)) for text in texts) + _CALL


_OPTIONS = {"of": ", of=()", "gathered": ", gathered=False", "many": ", many=False"}
"""Parameters of helpers by what needs them."""
_IF_GATHERED = "json.dumps(text) if gathered else "


def _needed(text: str, needs: frozenset[str]) -> str:
    """Return a text without the lines and the parameters that are not needed."""
    for name, option in _OPTIONS.items():
        if name not in needs:
            text = text.replace(option, "")
    if "gathered" not in needs:
        text = text.replace(_IF_GATHERED, "")
    lines = []
    for line in text.split("\n"):
        code, _, condition = line.partition("  # if ")
        is_needed = condition.removeprefix("not ") in needs
        if not condition or is_needed != condition.startswith("not "):
            lines.append(code.removesuffix("  # noqa: B905"))
    return "\n".join(lines)


def _with_imports(function: str) -> str:
    """Return a function that imports the modules it uses: their names are not the script's."""
    head, told, body = re.split(r"(\n    \"\"\".*\n)", function)
    modules = ", ".join(sorted(_modules_in(body)))
    return f"{head}{told}    import {modules}\n{body}" if modules else function


def taking_text(run: str) -> str:
    """Return what runs a script, whose argument is its text."""
    return run.replace(_READ, _WRITE)


def is_run(word: str) -> bool:
    """Return whether a word of a command is what runs a script."""
    return word.endswith(_CALL)


def takes_text(word: str) -> bool:
    """Return whether a word of a command is what runs a script whose argument is its text."""
    return is_run(word) and _WRITE in word


def glue_of(script: Script) -> str:
    """Return the lines around a function that is given all its inputs."""
    call = script.call or FunctionCall()
    names = frozenset(one.name for one in call.arguments)
    return "".join(_Glue(script, call, names, "files").parts()).replace(_OWN, "")


class _Glue:
    def __init__(
        self,
        script: Script,
        call: FunctionCall,
        names: frozenset[str],
        hands_on: HandsOn,
        files: tuple[tuple[str, bool], ...] = (),
    ) -> None:
        self._source = script.source.removeprefix(FUTURE)
        self._has_future = self._source != script.source
        self._function = script.function or ""
        self._call = call
        self._names = names
        self._hands_on = hands_on
        self._needs = frozenset(("xcom" if hands_on == "xcom" else "files",))
        self._files = files
        self._is_alone = not script.runs_function
        imported = {name.partition(".")[0] for name, _ in imports_of(script.source)}
        self._script_files = script.files
        self._has_numpy = bool(script.files) or not imported <= sys.stdlib_module_names
        self._helpers: dict[str, None] = {}
        self._used: set[str] = set()
        """What its calls need of the helpers."""

    def parts(self) -> tuple[str, str]:
        """Return the functions that the glue has, and the block that calls the step's function."""
        body = [*self._body()]
        texts = (_needed(_helper_texts()[name], self._needs | self._used) for name in self._helpers)
        helpers = "".join(f"{text}\n\n\n" for text in texts)
        return helpers, 'if __name__ == "__main__":\n' + "".join(f"    {one}\n" for one in body)

    def text(self) -> tuple[str, frozenset[str]]:
        """Return the script, and the helpers that it lacks."""
        helpers, main = self.parts()
        bound = bindings(self._source)
        same = {name for name, one in bound.items() if _is_plain_import(one, name)}
        needs = frozenset(self._helpers)
        if self._is_alone or needs & bound.keys():
            needs = frozenset()
        else:
            helpers = ""
        modules = _modules_in(helpers + main)
        imports = ", ".join(sorted(modules - same))
        glue = (f"import {imports}\n" if imports else "") + helpers
        taken = (modules | self._helpers.keys()) & bound.keys() - same
        if taken:
            glue, main = _renamed(glue, taken), _renamed(main, taken)
        glue += main.replace(_OWN, "")
        head = FUTURE * self._has_future + _files_text(self._source)
        own = head.rstrip("\n") + "\n\n" * bool(head) + self._own()
        first = own.count("\n") + 4
        needs |= {"future"} if self._has_future else set()
        needs |= self._used
        needs |= {"modules"} if self._script_files else set()
        return f"{own}\n\n# From couler:{first}\n{glue}", needs

    def _own(self) -> str:
        """Return the source, in which comments tell where its parts are from."""
        lines = self._source.rstrip("\n").split("\n")
        for at, first in reversed(self._call.lines):
            while at and not lines[at - 1] and at > 1 and not lines[at - 2]:
                at -= 1
                del lines[at]
            lines[at:at] = [f"# From {self._call.file}:{first}"]
        return "\n".join(lines).strip("\n")

    def _helper(self, name: str) -> str:
        """Return the name of a helper, which the script gets with those that it calls."""
        for one in _helpers_of(name, self._needs):
            self._helpers.setdefault(one)
        return name

    def _body(self) -> Iterator[str]:
        call = self._call
        if self._is_alone:
            yield f'os.environ.setdefault("COULER_WORK", "{WORK_DIR}")'
            yield 'os.makedirs(os.environ["COULER_WORK"], exist_ok=True)'
        if self._is_alone and not call.stay:
            yield 'os.chdir(os.environ["COULER_WORK"])'
        types = [one.type for one in (*call.arguments, *call.outputs)]
        if any("directory" in _kinds(one) for one in types):
            self._used.add("folders")
        for name, is_many in self._files:
            if is_many:
                self._used.add("many")
            yield f'{self._helper("take")}("{name}"{", many=True" * is_many})'
        given = [(one.name, self._given(one.name, one.type)) for one in call.arguments]
        arguments = [f"{name}={read}" for name, read in given if read is not None]
        result = "result = " if call.outputs or call.whole else ""
        yield from _wrapped(f"{result}{_OWN}{self._function}(", arguments, ")")
        if not result:
            return
        for one in call.outputs:
            value = f"result.{one.name}" if call.is_record else "result"
            yield self._written(one.name, value, one.type)
        if call.whole:
            yield self._written(STDOUT, "result", DataType(kind="record", fields=call.outputs))

    # Inputs

    def _given(self, name: str, data: DataType) -> str | None:
        """Return what reads an input that is there as a whole or in parts; None without one."""
        if name in self._names:
            return self._read(f'os.environ["COULER_INPUT_{name}"]', data)
        if data.kind == "list" and data.item is not None:
            item = data.item
            indexes = itertools.takewhile(
                lambda one: self._given(f"{name}_{one}", item) is not None, itertools.count()
            )
            items = [str(self._given(f"{name}_{index}", item)) for index in indexes]
            if items:
                return "\n".join(_wrapped("[", items, "]"))
            return self._columns(name, item)
        if data.kind == "record":
            parts = {one.name: self._given(f"{name}_{one.name}", one.type) for one in data.fields}
            fields = [f"{key}={read}" for key, read in parts.items() if read is not None]
            return "\n".join(_wrapped(f"{_OWN}{data.name}(", fields, ")")) if fields else None
        return None

    def _columns(self, name: str, item: DataType) -> str | None:
        """Return what reads a list of records from lists of their fields."""
        lists = {
            one.name: self._given(f"{name}_{one.name}", DataType(kind="list", item=one.type))
            for one in (item.fields if item.kind == "record" else ())
        }
        given = {key: read for key, read in lists.items() if read is not None}
        if not given:
            return None
        has_files = any(_is_file(one.type) for one in item.fields)
        # Of files, those of failed items at the end are missing.
        zipped = "itertools.zip_longest(" if has_files else "zip("
        rows = "\n".join(_wrapped(zipped, given.values(), ")"))
        fields = ", ".join(f"{key}={key}" for key in given)
        names = ", ".join(given) + "," * (len(given) == 1)
        return _comprehension(f"{_OWN}{item.name}({fields})", f"for {names} in {rows}")

    def _read(self, text: str, data: DataType) -> str:
        """Return the value for its text."""
        if data.kind in ("file", "path", "directory"):
            made = self._decoded(text, data)
            return f"({made} if os.path.lexists({text}) else None)" if data.optional else made
        if _is_text(data) and not data.optional:
            return self._decoded(text, data)
        if data.item is not None and data.kind == "list" and _is_file(data.item):
            item = data.item
            folder = "{}" if item.kind != "directory" else f"{self._helper('unpacked')}({{}})"
            made = self._decoded(folder.format("one"), item.model_copy(update={"optional": False}))
            files = f"{self._helper('files_in')}({text})"
            return files if made == "one" else f"[one and {made} for one in {files}]"
        return self._decoded(f"json.loads({text})", data)

    def _decoded(self, value: str, data: DataType, depth: int = 0) -> str:
        """Return the value for its JSON form; itself if that is the same."""
        decoding = self._decoding(value, data, depth)
        if value.isidentifier() or decoding.count(value) == 1:
            return decoding
        name = _variable(depth)
        return f"(lambda {name}: {self._decoding(name, data, depth + 1)})({value})"

    def _decoding(self, value: str, data: DataType, depth: int = 0) -> str:
        if data.optional and not _is_file(data):
            inner = self._decoding(value, data.model_copy(update={"optional": False}), depth)
            return value if inner == value else f"None if {value} is None else {inner}"
        name = _variable(depth)
        match data.kind:
            case "float":
                return f"float({value})"
            case "path":
                return f"pathlib.Path({value})"
            case "file" | "directory":
                made = "File" if data.kind == "file" else "Directory"
                return f"{_OWN}{made}({value})" if _has_class(self._source) else value
            case "enum" if data.item is not None and data.item.kind != "json":
                return f"{_OWN}{data.name}({value})"
            case "enum":
                test = f"{self._helper('to_json')}({name}.value) == {value}"
                return f"next({name} for {name} in {_OWN}{data.name} if {test})"
            case "list" if data.item is not None:
                inner = self._decoded(name, data.item, depth + 1)
                return value if inner == name else _comprehension(inner, f"for {name} in {value}")
            case "dict" if data.item is not None:
                inner = self._decoded(name, data.item, depth + 1)
                pairs = f"{{key: {inner} for key, {name} in {value}.items()}}"
                return value if inner == name else pairs
            case "tuple":
                names = [f"{name}_{index}" for index in range(len(data.fields))]
                parts = zip(names, data.fields, strict=True)
                whole = ", ".join(self._decoded(one, of.type, depth + 1) for one, of in parts)
                whole += "," * (len(names) == 1)
                return f"(lambda {', '.join(names)}: ({whole}))(*{value})"
            case "record":
                return self._record(value, data, depth)
        return value

    def _record(self, value: str, data: DataType, depth: int) -> str:
        given = []
        is_same = True
        for one in data.fields:
            part = f'{value}["{one.name}"]'
            read = self._decoded(part, one.type, depth + 1)
            is_same = is_same and read == part
            if one.has_default:
                given.append(f'**({{"{one.name}": {read}}} if "{one.name}" in {value} else {{}})')
            else:
                given.append(f"{one.name}={read}")
        given = [f"**{value}"] if is_same else given
        return "\n".join(_wrapped(f"{_OWN}{data.name}(", given, ")"))

    # Outputs

    def _written(self, name: str, value: str, data: DataType) -> str:
        """Return what checks and writes an output."""
        if _is_file(data):
            keep = self._helper("keep_folder" if data.kind == "directory" else "keep")
            if self._hands_on == "xcom":
                self._helper("hand_on")
            return f'{keep}("{name}", {value})'
        if _is_text(data) and not data.optional:
            types = ["str"]
            value = f"{_OWN}{data.name}({value}).value" if data.name else value
        else:
            types = _TYPES.get(data.kind, [])
            types = [*types, "type(None)"] if types and data.optional else types
            if self._has_numpy or _has_json(data):
                value = f"{self._helper('to_json')}({value})"
            else:
                value = self._encoded(value, data)
        item = data.item if data.kind == "list" and not data.optional else None
        if item is not None and not item.optional and item.kind in (*NUMBER_TYPES, "str"):
            inner = ", ".join(_TYPES.get(item.kind, ["str"]))
            types = [*types, f"of=({inner})" if "," in inner else f"of=({inner},)"]
            self._used.add("of")
        is_number = data.kind in NUMBER_TYPES and not data.optional
        gathered = ["gathered=True"] if self._hands_on == "items" and not is_number else []
        if gathered:
            self._used.add("gathered")
        if data.kind not in NUMBER_TYPES and (gathered or types != ["str"]):
            self._used.add("json")
        given = ", ".join([f'"{name}"', value, *types, *gathered])
        return f"{self._helper('write')}({given})"

    def _encoded(self, value: str, data: DataType, depth: int = 0) -> str:
        """Return the JSON form of a value; itself if that is the same."""
        name = _variable(depth)
        if data.optional:
            inner = self._encoded(value, data.model_copy(update={"optional": False}), depth)
            return value if inner == value else f"None if {value} is None else {inner}"
        match data.kind:
            case "enum":
                return f"{value}.value"
            case "list" if data.item is not None:
                inner = self._encoded(name, data.item, depth + 1)
                return value if inner == name else f"[{inner} for {name} in {value}]"
            case "tuple":
                items = [
                    self._encoded(f"{value}[{index}]", part.type, depth)
                    for index, part in enumerate(data.fields)
                ]
                return f"[{', '.join(items)}]"
            case "record":
                fields = (
                    f'"{one.name}": {self._encoded(f"{value}.{one.name}", one.type, depth)}'
                    for one in data.fields
                )
                return f"{{{', '.join(fields)}}}"
        return value


def _is_file(data: DataType) -> bool:
    return data.kind in ("file", "path", "directory")


def _is_text(data: DataType) -> bool:
    """Return whether values travel as they are, and not as JSON."""
    return "str" in (data.kind, data.item.kind if data.kind == "enum" and data.item else "")


def _has_json(data: DataType) -> bool:
    """Return whether a value can hold what only the run knows the form of."""
    return not {"json", "dict"}.isdisjoint(_kinds(data))


def _kinds(data: DataType) -> Iterator[str]:
    """Yield the kinds of a value, and of all that it can hold."""
    yield data.kind
    for inner in (data.item, *(one.type for one in data.fields)):
        if inner is not None:
            yield from _kinds(inner)


def _variable(depth: int) -> str:
    return ("one", "two", "three")[depth] if depth < 3 else f"value_{depth}"


def _wrapped(before: str, items: Iterable[str], after: str) -> list[str]:
    """Return a list of expressions on one line, or on a line each."""
    given = [*items]
    line = f"{before}{', '.join(given)}{after}"
    if (len(line) <= _WIDEST and "\n" not in line) or not given:
        return [line]
    return [before, *(f"    {line}" for one in given for line in f"{one},".split("\n")), after]


def _comprehension(item: str, rest: str) -> str:
    """Return a list comprehension on one line, or on several."""
    flat = f"[{item} {rest}]"
    if len(flat) <= _WIDEST and "\n" not in flat:
        return flat
    lines = [*item.split("\n"), *rest.split("\n")]
    return "\n".join(["[", *(f"    {line}" for line in lines), "]"])


@functools.cache
def _helper_texts() -> dict[str, str]:
    """Return the functions that scripts can have in them."""
    lines = Path(__file__).with_name("script_parts.py").read_text("utf-8").splitlines()
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse("\n".join(lines)).body
        if isinstance(node, ast.FunctionDef)
    }


def _helpers_of(name: str, needs: frozenset[str]) -> list[str]:
    """Return a helper after those that it calls."""
    texts = _helper_texts()
    words = re.findall(r"(?<!\.)\b\w+(?=\()", _needed(texts[name], needs))
    used = {one for one in words if one in texts and one != name}
    return [*(each for one in sorted(used) for each in _helpers_of(one, needs)), name]


def _modules_in(text: str) -> set[str]:
    """Return the modules of the standard library that a text reads names of."""
    return set(re.findall(rf"\b({_MODULES})\.\w", text))


def _is_plain_import(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Import) and any(
        not one.asname and one.name.partition(".")[0] == name for one in node.names
    )


def _renamed(text: str, taken: set[str]) -> str:
    """Return a text in which some names begin with an underscore."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in taken:
            node.id = f"_{node.id}"
        elif isinstance(node, ast.FunctionDef) and node.name in taken:
            node.name = f"_{node.name}"
        elif isinstance(node, ast.alias) and node.name in taken:
            node.asname = f"_{node.name}"
    return ast.unparse(tree) + "\n\n\n"


def _has_class(source: str) -> bool:
    """Return whether a source asks the files that it is given for more than a text has."""
    return re.search(r"(?<!os)\.path\b|\bisinstance\(", source) is not None


def _files_text(source: str) -> str:
    """Return what defines File and Directory, as far as a source names them."""
    names = [one for one in ("File", "Directory") if re.search(rf"\b{one}\b", source)]
    names = [one for one in names if one not in bindings(source)]
    if not names:
        return ""
    if _has_class(source):
        return "class File(str):\n    path = property(str)\n\n\nDirectory = File\n\n\n"
    return f"{' = '.join(names)} = str\n\n\n"
