"""One attempt of a step of a group, in its pod (docs/semantics.md, section 10)."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any

from couler.errors import EvaluationError, MissingOutputError, WireError
from couler.ir.semantics.wire import (
    MAX_VALUE_BYTES,
    as_type,
    decode,
    part,
    read_content,
    to_text,
)

GRACE_S = 2.0
"""Seconds between the request to end (SIGTERM) and the end by force (SIGKILL)."""

DRAIN_S = 1.0
"""How long the outputs of a process that has ended are waited for, which others may hold open."""

PIECE = 65536

STOPPED = "the group was asked to end"


class AttemptError(Exception):
    """An attempt ended badly: a `failure`, an `error`, or what no other attempt can mend."""

    def __init__(self, kind: str, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code


class Log:
    """Writes the lines of all steps to one stream, each behind the name of its step."""

    def __init__(self, descriptor: int = 1) -> None:
        self.descriptor = descriptor
        self.lock = threading.Lock()
        self.fault = ""
        """Why lines were lost, if some were; not that nobody reads them."""

    def line(self, name: str, line: bytes, mark: bytes = b"|") -> None:
        """Write a line of a step, or with the mark `!` one about it."""
        self.write(name.encode() + b" " + mark + b" " + line)

    def write(self, line: bytes) -> None:
        """Write a line as it is; nothing of other lines comes between."""
        text = line + b"\n"
        with self.lock:
            try:
                while text:
                    try:
                        text = text[os.write(self.descriptor, text) :]
                    except BlockingIOError:  # a program that has it too does not want to wait
                        select.select([], [self.descriptor], [])
            except OSError as error:  # what steps write has to be drained still
                if not isinstance(error, BrokenPipeError):
                    self.fault = str(error)


class Pump(threading.Thread):
    """Takes what a process writes to the log, line by line, and keeps the beginning of it."""

    def __init__(self, name: str, pipe: Any, log: Log) -> None:
        super().__init__(daemon=True)
        self.step, self.pipe, self.log = name, pipe, log
        self.kept = b""
        self.is_writing = False
        self.start()

    def run(self) -> None:
        """Read to the end."""
        rest = b""
        while True:
            self.is_writing = False
            chunk = os.read(self.pipe.fileno(), PIECE)
            if not chunk:
                break
            self.is_writing = True
            self.kept += chunk[: max(0, MAX_VALUE_BYTES + 2 - len(self.kept))]
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                self.log.line(self.step, line)
            if len(rest) > PIECE:
                self.log.line(self.step, rest)
                rest = b""
        if rest:
            self.log.line(self.step, rest)


class Running:
    """The processes that run, so that all of them can be asked to end."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.stopped = threading.Event()

    def start(self, words: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a process in a session of its own."""
        with self.lock:
            if self.stopped.is_set():
                raise AttemptError("", STOPPED)
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                start_new_session=True,
                **options,
            )
            self.processes.add(process)
        return process

    def close(self, process: subprocess.Popen[bytes]) -> None:
        """End what a process that has ended has left in its session."""
        with self.lock:
            self.processes.discard(process)
        send(process, signal.SIGKILL)
        if os.getpid() == 1:
            self.reap()

    def reap(self) -> None:
        """Take the ends of processes whose parents have gone, which the first process gets."""
        with self.lock:
            own = {process.pid for process in self.processes}
            for pid in orphans():
                if pid not in own:
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)

    def stop(self, grace_s: float) -> None:
        """Ask all processes to end, end them by force later, and start no others."""
        with self.lock:
            self.stopped.set()
            processes = list(self.processes)
        send_all(processes, signal.SIGTERM)
        timer = threading.Timer(grace_s, self.kill)
        timer.daemon = True
        timer.start()

    def kill(self) -> None:
        """End by force what has not ended; the number of what has may be that of another one."""
        with self.lock:
            send_all(list(self.processes), signal.SIGKILL)


def send(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def orphans() -> list[int]:
    """Return the processes that have ended and that the first process of a pod is to wait for."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{int(name)}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                if (state, parent) == (b"Z", b"1"):
                    found.append(int(name))
    return found


def send_all(processes: list[subprocess.Popen[bytes]], number: int) -> None:
    """Send a signal to several processes."""
    for process in processes:
        send(process, number)


def resolve(value: Any, outputs: dict[str, dict[str, tuple[str, str]]]) -> tuple[str, str]:
    """Return the text and type of a value of a definition."""
    if isinstance(value, str):
        return value, "str"
    if "json" in value:
        return value["json"], "json"
    if "given" in value:
        name = "COULER_INPUT_" + value["given"]
        if name not in os.environ:
            raise MissingOutputError(f"the pod was not given its input {value['given']}")
        return os.environ[name], value["type"]
    if "step" in value:
        step, output = value["step"], value["output"]
        found = outputs.get(step, {}).get(output)
        if found is None:
            raise MissingOutputError(f'the output "{output}" of "{step}" cannot be read')
        return found
    if "field" in value:
        whole = resolve(value["field"], outputs)
        decode(*whole)
        return part(to_text(*whole), *value["path"]), "json"
    if "template" in value:
        return "".join(to_text(*resolve(one, outputs)) for one in value["template"]), "str"
    problem = MissingOutputError("there is no value to choose from")
    for option in value["first"]:
        try:
            return resolve(option, outputs)
        except MissingOutputError as error:
            problem = error
    raise problem


def check_text(text: str) -> None:
    """Refuse a text that no process can be given."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EvaluationError(f"it reads {text[:60]!a}, which is no text: {error}") from None


def bind(step: dict[str, Any], outputs: dict[str, dict[str, tuple[str, str]]]) -> dict[str, Any]:
    """Return the texts of a step, which are the same for each of its attempts."""
    texts: dict[str, str] = {}
    hidden: dict[str, str] = {}
    files: dict[str, str | None] = {}
    for given in step.get("inputs", ()):
        name = given["name"]
        try:
            stored = resolve(given["value"], outputs)
        except MissingOutputError:
            if not given.get("optional"):
                raise
            files[name] = None
            continue
        if given["type"] in ("file", "directory"):
            files[name] = stored[0]
        else:
            texts["COULER_INPUT_" + name] = as_type(*stored, given["type"])
    words = [to_text(*resolve(word, outputs)) for word in step["words"]]
    for variable in step.get("env", ()):
        if "hidden" not in variable:
            texts[variable["name"]] = to_text(*resolve(variable["value"], outputs))
        elif variable["hidden"] in os.environ:
            hidden[variable["name"]] = os.environ[variable["hidden"]]
    for text in (*words, *texts.values()):
        check_text(text)
    texts.update(hidden)  # bytes of any kind, as they came
    return {"words": words, "texts": texts, "files": files}


def attempt(
    step: dict[str, Any],
    bound: dict[str, Any],
    folder: str,
    timeout_s: float | None,
    running: Running,
    log: Log,
) -> dict[str, tuple[str, str]]:
    """Run the process of a step once and return what it gave, files as the paths where they lie."""
    work = os.path.join(folder, "work")
    os.makedirs(work)
    hidden = ("COULER_INPUT_", "GROUPED_ENV_")
    environ = {name: text for name, text in os.environ.items() if not name.startswith(hidden)}
    environ["COULER_WORK"] = work
    for given in step.get("inputs", ()):
        if given["type"] in ("file", "directory"):
            place = os.path.join(work, given.get("path") or "inputs/" + given["name"])
            environ["COULER_INPUT_" + given["name"]] = place
            put_file(given, bound["files"][given["name"]], place)
    environ.update(bound["texts"])
    words = list(bound["words"])
    if "script" in step:
        words.append(os.path.join(folder, "script"))
        with open(words[-1], "wb") as file:
            file.write(step["script"].encode())
    if words[0] == step.get("python"):
        words[0] = sys.executable  # which runs this by the same name
    is_read = any(one.get("path") is None for one in step.get("outputs", ()))
    stderr = subprocess.PIPE if is_read else subprocess.STDOUT
    try:
        process = running.start(words, env=environ, cwd=begin_in(step, work), stderr=stderr)
    except (OSError, ValueError) as error:
        raise AttemptError("error", f'"{words[0]}" cannot be started: {error}') from None
    pumps = [Pump(step["name"], pipe, log) for pipe in (process.stdout, process.stderr) if pipe]
    is_late = False
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        is_late = True
        send(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
        send(process, signal.SIGKILL)
        process.wait()
    running.close(process)
    for pump in pumps:
        pump.join(DRAIN_S)
        while pump.is_alive() and pump.is_writing:  # who reads the log is slow: more may be there
            pump.join(0.1)
        if not pump.is_alive():
            pump.pipe.close()
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    if running.stopped.is_set() and code:
        raise AttemptError("", STOPPED, code)
    if is_late:
        raise AttemptError("failure", f"it took longer than {timeout_s:g} s")
    if code:
        raise AttemptError("failure", f"it ended with exit code {code}", code)
    try:
        return read_outputs(step, work, pumps[0].kept)
    except (WireError, OSError) as error:
        raise AttemptError("error", str(error), 0) from None


def begin_in(step: dict[str, Any], work: str) -> str:
    """Return the folder in which the process of a step begins."""
    wanted = step.get("directory")
    if wanted is None:
        # Without an image the pod begins in its work folder, and so does each step in its own.
        start = os.getcwd()
        return work if os.path.realpath(start) == os.path.realpath(group_work()) else start
    path = os.path.join(work, wanted)
    if os.path.isabs(wanted):
        with contextlib.suppress(OSError):  # as the runtime of a container does, which may do more
            os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(path, exist_ok=True)
    return path


def group_work() -> str:
    """Return the work folder of the pod."""
    return os.environ["COULER_WORK"]


def put_file(given: dict[str, Any], source: str | None, place: str) -> None:
    """Put a copy of a file or folder where a step finds it."""
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if given.get("many") and (source is None or not os.path.exists(source)):
            os.mkdir(place)  # of no files at all there need be no folder
        elif source is None or not os.path.exists(source):
            if given.get("optional"):
                return
            raise AttemptError("", f'the file of its input "{given["name"]}" is not there')
        else:
            copy_all(source, place)
        mode = given.get("mode")
        if mode is None:
            return
        if given.get("recurse_mode") and os.path.isdir(place):
            for folder, folders, files in os.walk(place, topdown=False):
                for name in folders + files:
                    path = os.path.join(folder, name)
                    if not os.path.islink(path):
                        os.chmod(path, mode)
        os.chmod(place, mode)
    except OSError as error:
        raise AttemptError("error", f"its inputs cannot be put in place: {error}") from None


def copy_all(source: str, place: str, copy: Any = shutil.copy2) -> None:
    """Copy a file or folder; links in a folder stay links."""
    if os.path.isdir(source):
        shutil.copytree(source, place, symlinks=True, copy_function=copy)
    else:
        copy(source, place)


def read_outputs(step: dict[str, Any], work: str, stdout: bytes) -> dict[str, tuple[str, str]]:
    """Return what a process gave: texts with their types, and paths of files."""
    found = {}
    for output in step.get("outputs", ()):
        name, kind, path = output["name"], output["type"], output.get("path")
        if path is None:
            found[name] = read_value(stdout, name), kind
            continue
        place = os.path.join(work, path)
        if not (os.path.isdir(place) if kind == "directory" else os.path.isfile(place)):
            if "default" in output:
                found[name] = (output["default"], kind)
            elif not output.get("optional") or os.path.exists(place):
                what = "directory" if kind == "directory" else "file"
                raise WireError(f'the output "{name}": the process did not write the {what} {path}')
            continue
        real = os.path.realpath(place)
        if os.path.commonpath([real, os.path.realpath(work)]) != os.path.realpath(work):
            raise WireError(
                f'the output "{name}": {path} is a link that leads out of the folder of the step. '
                "Copy what it leads to"
            )
        if kind in ("file", "directory"):
            found[name] = (real, kind)
        else:
            with open(real, "rb") as file:
                found[name] = read_value(file.read(MAX_VALUE_BYTES + 2), name), kind
    return found


def read_value(content: bytes, name: str) -> str:
    """Return an output from the bytes that hold it, less one final newline."""
    return read_content(content[: -1 if content.endswith(b"\n") else None], f'the output "{name}"')
