"""Functions that scripts of typed steps have in them, where they need them.

They have no annotations, as their types would have to be imported there.
"""

import __future__

import dataclasses
import enum
import io
import json
import linecache
import os
import pathlib
import re
import shutil
import sys
import tempfile
import traceback


def dump(value):
    """Return compact JSON; the separators of lines are escaped in it, as Go does."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if "\\u0000" in text.replace("\\\\", ""):
        raise ValueError("a text cannot hold NUL")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def json_text(name, value, *types):
    """Return an output, whose value is of one of some types if these are given, as JSON."""
    try:
        text = dump(value)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        sys.exit(f"the output {name} cannot travel: {error}")
    if types and not isinstance(value, types):
        sys.exit(f"the output {name} is {value!r:.200}, which does not fit its type")
    if size > 65536:
        sys.exit(f"the output {name} is {size} bytes, more than 65536: return a File instead")
    return text


def to_json(value):
    """Return the JSON form of a value."""
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if isinstance(value, str | int | float | None):
        return value
    if hasattr(value, "_asdict"):
        return to_json(value._asdict())
    if dataclasses.is_dataclass(value):
        return {one.name: to_json(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, dict):
        keys = [key for key in value if not isinstance(key, str)]
        if keys:
            raise TypeError(f"keys must be text, not {', '.join(map(repr, keys))}")
        return {to_json(key): to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    return to_json(value.tolist()) if hasattr(value, "tolist") else value  # numpy


def files_in(folder):
    """Return the files of a list, by their indexes; None for those that are missing."""
    files = {int(name): os.path.join(folder, name) for name in os.listdir(folder)}
    return [files.get(index) for index in range(max(files, default=-1) + 1)]


def unpacked(file):
    """Return a folder, which may be an archive."""
    if os.path.isdir(file):
        return file
    folder = tempfile.mkdtemp()
    shutil.unpack_archive(file, folder, "gztar")
    return os.path.join(folder, *os.listdir(folder))


def keep(source, path):
    """Put a file where it is an output."""
    if not os.path.isfile(str(source)):
        name = os.path.basename(path)
        sys.exit(f"the output {name} is {source!r:.200}, but there is no such file")
    source = os.path.realpath(source)
    if source != os.path.realpath(path):
        try:
            os.link(source, path)
        except OSError:  # another disk
            shutil.copy2(source, path)


def keep_folder(source, path):
    """Put a folder where it is an output; links into it stay links, others give their targets."""
    if not os.path.isdir(str(source)):
        sys.exit(f"the output {path.name} is {source!r:.200}, but there is no such folder")
    root = os.path.realpath(source)

    def copy(source, target):
        real = os.path.realpath(source)
        if os.path.islink(source) and os.path.join(real, "").startswith(os.path.join(root, "")):
            inside = os.path.join(path, os.path.relpath(real, root))
            os.symlink(os.path.relpath(inside, os.path.dirname(target)), target)
        elif os.path.isdir(real):
            os.makedirs(target, exist_ok=True)
            for name in os.listdir(real):
                copy(os.path.join(real, name), os.path.join(target, name))
        elif os.path.exists(real):
            keep(real, target)
        else:
            sys.exit(f"{source} is a link to {os.readlink(source)}, which is not there")

    try:
        if root != os.path.realpath(path):
            copy(root, path)
    except (OSError, RecursionError) as error:
        sys.exit(f"the output {path.name} cannot travel: {error}")


def run(script):
    """Run a script; tracebacks name the files and lines that its comments tell."""

    def tell(kind, error, trace):
        while trace.tb_next and trace.tb_frame.f_code.co_filename in ("<string>", "couler"):
            trace = trace.tb_next
        told = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(told.replace(f'"{sys.path[0]}/', '"'))  # of the project's modules

    sys.excepthook, sys.path[:] = tell, filter(None, sys.path)
    work = os.environ.setdefault("COULER_WORK", "/tmp/couler")
    os.makedirs(work, exist_ok=True)
    os.chdir(work)
    globals()["__file__"], sys.argv[:] = script, [script]
    text, lines = pathlib.Path(script).read_text("utf-8"), {0: ""}
    flags = text.startswith("from __future__") and __future__.annotations.compiler_flag
    _, *parts = re.split(r"^# (.+):([0-9]+)\n", "# couler:1\n" + text, flags=re.M)
    for file, first, part in zip(parts[::3], parts[1::3], parts[2::3]):  # noqa: B905
        lines.update(enumerate(io.StringIO(part), int(first)))
        whole = [lines.get(at, "") for at in range(1, max(lines) + 1)]
        linecache.cache[file] = 0, None, whole, file
        # A part at a time, as they need not be in the order of the file.
        exec(compile("\n" * (int(first) - 1) + part, file, "exec", flags), globals())
