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
import uuid


def write(name, value, *types, of=(), gathered=False):
    """Check an output and write it: a text as it is, all else as JSON."""
    if types and (not isinstance(value, types) or (type(value) is bool and bool not in types)):
        sys.exit(f"the output {name} is {value!r:.200}, which does not fit its type")
    for one in value if of else ():  # if of
        if not isinstance(one, of) or (type(one) is bool and bool not in of):  # if of
            sys.exit(f"the output {name} is {value!r:.200}, which does not fit its type")  # if of
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")  # as Argo  # if json
        size = len((value if types == (str,) else text).encode())
        if "\\u0000" in text.replace("\\\\", ""):
            raise ValueError("a text cannot hold NUL")
    except (TypeError, ValueError) as error:
        sys.exit(f"the output {name} cannot travel: {error}")
    if size > 65536:
        sys.exit(f"the output {name} is {size} bytes, more than 65536: return a File instead")
    outputs = globals().setdefault("couler_outputs", {})  # if xcom
    outputs[name] = value if types == (str,) else text  # if xcom
    text = json.dumps(text) if gathered else value + "\n" if types == (str,) else text  # if files
    out = pathlib.Path(os.environ["COULER_WORK"], "outputs")  # if files
    out.mkdir(exist_ok=True)  # if files
    (out / name).write_text(text, "utf-8")  # if files


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


def link(source, path):
    """Put a file at another path as well."""
    source = os.path.realpath(source)
    if source != os.path.realpath(path):
        try:
            os.link(source, path)
        except OSError:  # another disk
            shutil.copy2(source, path)


def copy_all(source, path, mode):
    """Copy to a path and widen the modes; on an I/O error exit with a message of couler."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(source):  # if folders
            shutil.copytree(source, path, symlinks=True, dirs_exist_ok=True)  # if folders
        else:  # if folders
            shutil.copy(source, path)  # if folders
        shutil.copy(source, path)  # if not folders
        bits = os.stat(path).st_mode  # if not folders
        os.chmod(path, bits | (mode if bits & 0o111 else mode & 0o666))  # if not folders
        for one in [pathlib.Path(path), *pathlib.Path(path).rglob("*")]:  # if folders
            if not one.is_symlink():  # if folders
                bits = one.stat().st_mode  # if folders
                one.chmod(bits | (mode if bits & 0o111 else mode & 0o666))  # if folders
    except OSError as error:
        pathlib.Path("/dev/termination-log").write_text(f"couler error: {error}")
        sys.exit(f"couler: {error}")


def take(name, many=False):
    """Copy an input from the volume to its path."""
    key, path = os.environ["COULER_FILE_" + name], os.environ["COULER_INPUT_" + name]
    copy_all(f"/couler/files/{key}", path, 0o700)  # if not many
    if not many:  # if many
        copy_all(f"/couler/files/{key}", path, 0o700)  # if many
    for at, one in enumerate(key.split("\n") if many else ()):  # if many
        os.makedirs(path, exist_ok=True)  # if many
        if one not in ("", "-"):  # if many
            copy_all(f"/couler/files/{one}", f"{path}/{at}", 0o700)  # if many


def hand_on(name, source):
    """Copy an output to where files are kept, and return where that is."""
    keys = os.environ["COULER_OUTPUT_" + name], os.environ.get("COULER_COPY_" + name)
    os.umask(0)  # other steps may run as other users
    for path in [f"/couler/files/{key}" for key in keys if key]:
        new = f"{path}.{uuid.uuid4().hex}"
        copy_all(source, new, 0o555)
        if os.path.isdir(path) or (os.path.isdir(new) and os.path.exists(path)):  # if folders
            os.rename(path, new + ".old")  # if folders
        os.replace(new, path)
        shutil.rmtree(new + ".old", ignore_errors=True)  # if folders
    return keys[0]


def keep(name, source):
    """Make a file an output."""
    if not os.path.isfile(str(source)):
        sys.exit(f"the output {name} is {source!r:.200}, but there is no such file")
    out = pathlib.Path(os.environ["COULER_WORK"], "outputs")  # if files
    out.mkdir(exist_ok=True)  # if files
    link(source, out / name)  # if files
    globals().setdefault("couler_outputs", {})[name] = str(source)  # if xcom


def keep_folder(name, source):
    """Make a folder an output; links into it stay links, others give their targets."""
    if not os.path.isdir(str(source)):
        sys.exit(f"the output {name} is {source!r:.200}, but there is no such folder")
    path = os.path.join(os.environ["COULER_WORK"], "outputs", name)
    root = os.path.realpath(source)

    def copy(source, target):
        real = os.path.realpath(source)
        if os.path.islink(source) and os.path.join(real, "").startswith(os.path.join(root, "")):
            inside = os.path.join(path, os.path.relpath(real, root))
            os.symlink(os.path.relpath(inside, os.path.dirname(target)), target)
        elif os.path.isdir(real):
            if os.path.join(root, "").startswith(os.path.join(real, "")) and source != root:
                sys.exit(f"{source} is a link to a folder that it is in")
            os.makedirs(target, exist_ok=True)
            for name in os.listdir(real):
                copy(os.path.join(real, name), os.path.join(target, name))
        elif os.path.exists(real):
            link(real, target)
        else:
            sys.exit(f"{source} is a link to {os.readlink(source)}, which is not there")

    try:
        if root != os.path.realpath(path):
            copy(root, path)
    except (OSError, RecursionError) as error:
        sys.exit(f"the output {name} cannot travel: {error}")
    globals().setdefault("couler_outputs", {})[name] = path  # if xcom


def run(script):
    """Run a script; tracebacks name the files and lines that its comments tell."""

    def tell(kind, error, trace):
        while trace.tb_next and trace.tb_frame.f_code.co_filename in ("<string>", "couler"):
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)  # if not modules
        told = "".join(traceback.format_exception(kind, error, trace))  # if modules
        sys.stderr.write(told.replace(f'"{sys.path[0]}/', '"'))  # if modules

    sys.excepthook, sys.path[:] = tell, filter(None, sys.path)
    work = os.environ.setdefault("COULER_WORK", "/tmp/couler")
    os.makedirs(work, exist_ok=True)
    os.chdir(work)  # if chdir
    text = pathlib.Path(script).read_text("utf-8")
    globals()["__file__"], sys.argv[:] = script, [script]
    flags = text.startswith("from __future__") and __future__.annotations.compiler_flag  # if future
    _, *parts = re.split(r"^# From (.+):([0-9]+)\n", "# From couler:1\n" + text, flags=re.M)
    lines = {0: ""}
    for file, first, part in zip(parts[::3], parts[1::3], parts[2::3]):  # noqa: B905
        lines.update(enumerate(io.StringIO(part), int(first)))
        whole = [lines.get(at, "") for at in range(1, max(lines) + 1)]
        linecache.cache[file] = 0, None, whole, file
        part = "\n" * (int(first) - 1) + part
        exec(compile(part, file, "exec"), globals())  # if not future
        exec(compile(part, file, "exec", flags), globals())  # if future
    outputs = globals().get("couler_outputs", {})  # if xcom
    for name in outputs:  # if hand_on
        if "COULER_OUTPUT_" + name in os.environ:  # if hand_on
            outputs[name] = hand_on(name, outputs[name])  # if hand_on
    if outputs:  # if xcom
        pathlib.Path("/airflow/xcom/return.json").write_text(json.dumps(outputs))  # if xcom
