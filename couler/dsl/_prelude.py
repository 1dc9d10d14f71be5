"""Reads the inputs of a step, calls its function and writes its outputs.

Scripts have parts of it. It has no annotations, which would be evaluated there.
"""

import dataclasses
import enum
import json
import os
import pathlib  # noqa: F401  # of parameters that are annotated so
import re
import shutil
import sys
import tempfile
import traceback
import warnings


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


class _Json:
    """Values of a type, which travel as JSON."""

    def __init__(self, *types, make=None):
        self.types = types or (object,)
        self.make = make  # gives the value for its JSON form, where they differ

    def decode(self, value):
        return value if self.make is None else self.make(value)

    def parse(self, text):
        return self.decode(json.loads(text))

    def is_given(self, name):
        return "COULER_INPUT_" + name in os.environ

    def read(self, name):
        return self.parse(os.environ["COULER_INPUT_" + name])

    def encode(self, value):
        return _dump(value)

    def write(self, name, value):
        try:
            value = _plain(value)
            data, text = _dump(value), self.encode(value)
            size = len(text.encode())
        except (TypeError, ValueError) as error:
            sys.exit(f"the output {name} cannot travel: {error}")
        is_bool = isinstance(value, bool) and not {bool, object}.intersection(self.types)
        if is_bool or not isinstance(value, self.types):
            sys.exit(f"the output {name} is {value!r:.200}, which does not fit its type")
        if size > 65536:
            sys.exit(f"the output {name} is {size} bytes, more than 65536: return a File instead")
        path = _path_of(name)
        for place, content in ((path, text), (path + ".gather", _dump(data))):
            with open(place, "w", encoding="utf-8", newline="") as file:
                file.write(content + "\n")  # who reads it takes one newline away


class _Text(_Json):
    """Text, which travels as it is."""

    def parse(self, text):
        return self.decode(text)

    def encode(self, value):
        return str(value)


class _Path(_Text):
    """Files."""

    def write(self, name, value):
        if not isinstance(value, str | os.PathLike) or not os.path.isfile(value):
            sys.exit(f"the output {name} is {value!r:.200}, but there is no such file")
        path = _path_of(name)
        if os.path.realpath(value) != os.path.realpath(path):
            _link(value, path)


class _Directory(_Text):
    """Folders."""

    def write(self, name, value):
        if not isinstance(value, str | os.PathLike) or not os.path.isdir(value):
            sys.exit(f"the output {name} is {value!r:.200}, but there is no such folder")
        path, source = _path_of(name), os.path.realpath(value)
        try:
            if source != os.path.realpath(path):
                _copy(source, path, source, path)
        except (OSError, RecursionError) as error:
            sys.exit(f"the output {name} cannot travel: {error}")


class _List(_Json):
    """Lists, whole or as their items: `x`, or `x_0`, `x_1` and so on."""

    def __init__(self, item):
        super().__init__(list)
        self.item = item

    def decode(self, value):
        return [self.item.decode(one) for one in value]

    def is_given(self, name):
        return super().is_given(name) or self.item.is_given(name + "_0")

    def read(self, name):
        if super().is_given(name):
            return super().read(name)
        values: list[object] = []
        while self.item.is_given(f"{name}_{len(values)}"):
            values.append(self.item.read(f"{name}_{len(values)}"))
        return values


class _Files(_List):
    """Lists of files, as a folder with an entry for each item; that of a failed item is missing."""

    def parse(self, text):
        places = {int(entry): os.path.join(text, entry) for entry in os.listdir(text)}
        files = [places.get(index) for index in range(max(places, default=-1) + 1)]
        return [file and self.item.decode(file) for file in files]


class _Directories(_Files):
    """Lists of folders, which a bucket has as archives."""

    def parse(self, text):
        return [one and self.item.decode(_unpacked(one)) for one in super().parse(text)]


class _Records(_List):
    """Lists of records, also as a list for each field: `x_field`."""

    def __init__(self, item, /, **columns):
        super().__init__(item)
        self.cls = item.cls
        self.columns = columns

    def is_given(self, name):
        parts = (of.is_given(f"{name}_{key}") for key, of in self.columns.items())
        return super().is_given(name) or any(parts)

    def read(self, name):
        if super().is_given(name):
            return super().read(name)
        given = {key: of.read(f"{name}_{key}") for key, of in self.columns.items()}
        rows = range(max(map(len, given.values()), default=0))
        # Of files, those of failed items at the end are missing.
        return [
            self.cls(**{key: one[row] if row < len(one) else None for key, one in given.items()})
            for row in rows
        ]


class _Tuple(_Json):
    """Tuples of as many items as there are types."""

    def __init__(self, *items):
        super().__init__(list)
        self.items = items

    def decode(self, value):
        return tuple(of.decode(one) for of, one in zip(self.items, value, strict=True))


class _Dict(_Json):
    """Dicts with keys of text."""

    def __init__(self, item):
        super().__init__(dict)
        self.item = item

    def decode(self, value):
        return {key: self.item.decode(one) for key, one in value.items()}


class _Optional(_Json):
    """Values of a type, or None."""

    def __init__(self, item):
        super().__init__(*item.types, type(None))
        self.item = item

    def decode(self, value):
        return None if value is None else self.item.decode(value)

    def is_given(self, name):
        return self.item.is_given(name)

    def read(self, name):
        return super().read(name) if _Json.is_given(self, name) else self.item.read(name)


class _Record(_Json):
    """Dataclasses and NamedTuples, whole or as their fields: `x`, or `x_field` for each."""

    def __init__(self, cls, /, **fields):
        super().__init__(dict)
        self.cls = cls
        self.fields = fields

    def decode(self, value):
        return self.cls(**{key: self.fields[key].decode(one) for key, one in value.items()})

    def is_given(self, name):
        parts = (of.is_given(f"{name}_{key}") for key, of in self.fields.items())
        return super().is_given(name) or any(parts)

    def read(self, name):
        if super().is_given(name):
            return super().read(name)
        parts = {key: f"{name}_{key}" for key in self.fields}
        given = {
            key: of.read(parts[key]) for key, of in self.fields.items() if of.is_given(parts[key])
        }
        return self.cls(**given)


def _member(cls):
    """Return what gives the member of an enumeration for the JSON form of its value."""
    return lambda value: next(one for one in cls if _plain(one.value) == value)


def _plain(value):
    """Return the JSON form of a value."""
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if isinstance(value, str) and "\0" in value:
        raise ValueError("a text cannot hold NUL")
    if isinstance(value, str | int | float | None):
        return value
    if hasattr(value, "_asdict"):
        return {key: _plain(one) for key, one in value._asdict().items()}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        keys = [key for key in value if not isinstance(key, str)]
        if keys:
            raise TypeError(f"keys must be text, not {', '.join(map(repr, keys))}")
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _plain(value.tolist()) if hasattr(value, "tolist") else value  # numpy


def _dump(value):
    """Return compact JSON; the separators of lines are escaped in it, as Go does."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _path_of(name):
    folder = os.path.join(os.environ["COULER_WORK"], "outputs")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name)


def _copy(source, path, root, top):
    """Copy a file or folder; links into the folder stay links, others give what they lead to."""
    real = os.path.realpath(source)
    if os.path.islink(source) and os.path.join(real, "").startswith(os.path.join(root, "")):
        inside = os.path.join(top, os.path.relpath(real, root))
        os.symlink(os.path.relpath(inside, os.path.dirname(path)), path)
    elif os.path.isdir(real):
        os.makedirs(path, exist_ok=True)
        for name in os.listdir(real):
            _copy(os.path.join(real, name), os.path.join(path, name), root, top)
    elif os.path.exists(real):
        _link(real, path)
    else:
        sys.exit(f"{source} is a link to {os.readlink(source)}, which is not there")


def _unpacked(file):
    if os.path.isdir(file):
        return file
    folder = tempfile.mkdtemp()
    shutil.unpack_archive(file, folder, "gztar")
    return os.path.join(folder, *os.listdir(folder))


def _link(source, path):
    try:
        os.link(os.path.realpath(source), path)
    except OSError:  # another disk
        shutil.copy2(source, path)


def _name_places(file, lines):
    """Let tracebacks and warnings name the project's file and its lines, not this script."""
    script = re.escape(_run.__code__.co_filename)
    folders = "|".join(
        map(re.escape, filter(None, sys.path[1::-1]))
    )  # one is the first of PYTHONPATH

    def place(found):
        line = first = int(found[3])
        while first and first not in lines:
            first -= 1
        return f"{found[1]}{file}{found[2]}{lines.get(first, 0) + line - first}"

    def named(text):
        text = re.sub(rf'^( *File "|){script}(", line |:)([0-9]+)', place, text, flags=re.M)
        return re.sub(
            rf'^( *File "|)(?:{folders})/(?=.*(?:", line |:)[0-9])', r"\1", text, flags=re.M
        )

    def tell(kind, error, trace):
        below = trace
        while below and below.tb_frame.f_code is not _run.__code__:
            below = below.tb_next
        told = traceback.format_exception(kind, error, below.tb_next if below else trace)
        sys.stderr.write(named("".join(told)))

    form = warnings.formatwarning
    warnings.formatwarning = lambda *given: named(form(*given))
    sys.excepthook = tell


def _run(function, inputs, outputs, *, stay=False, whole=False):
    """Call a function with the step's inputs and keep what it returns."""
    work = os.environ.setdefault("COULER_WORK", "/tmp/couler")
    os.makedirs(work, exist_ok=True)
    if not stay:
        os.chdir(work)
    result = function(**{name: of.read(name) for name, of in inputs.items() if of.is_given(name)})
    if isinstance(outputs, _Json):
        outputs.write("result", result)
        return
    for name, of in outputs.items():
        of.write(name, getattr(result, name))
    if whole:
        _Json().write("result", result)
