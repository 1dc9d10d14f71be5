"""Containers of podman or docker, made from the images of the steps."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from couler.backends.local.runtimes.base import CannotStartError, Job, Launch
from couler.backends.local.runtimes.paths import (
    absolute_paths,
    below,
    in_mirror,
    inside_work,
    make_volumes,
    mounted,
    refuse_paths,
)
from couler.errors import ConfigurationError, EngineError
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Resources
from couler.ir.quantity import parse_quantity
from couler.ir.walk import all_steps, scopes
from couler.ir.workflow import WORK_DIR, Container, Script, Step, Workflow
from couler.packages import install_command

RUN_LABEL = "couler.run"
"""Label of every container: the run that it belongs to."""

SCRIPT_PATH = "/tmp/.couler-script"
"""Where a script lies in its container."""

Tool: t.TypeAlias = t.Literal["podman", "docker"]

_WAIT_S = 120.0
_NOT_STARTED = (125, 126, 127)
"""Exit codes of a client whose container did not start, and of any process that likes them."""

_CLIENTS_OWN = (
    *("BUILDAH_", "CONTAINER", "DBUS_", "DOCKER_", "GODEBUG", "GOTRACEBACK", "HOME", "LD_"),
    *("PATH", "PODMAN_", "REGISTRY_", "SSH_", "STORAGE_", "TMPDIR", "XDG_", "_"),
)
"""Beginnings of the names of variables that the client reads itself."""

_INITS = ("/usr/bin/catatonit", "/usr/libexec/podman/catatonit", "/usr/lib/podman/catatonit")
_PULL = {"Always": "always", "IfNotPresent": "missing", "Never": "never"}


@dataclass(frozen=True, slots=True)
class ContainerRuntime:
    """Runs steps in containers."""

    name: Tool
    command: tuple[str, ...]
    run_args: tuple[str, ...] = ()
    user: str = "auto"
    has_init: bool = True

    @classmethod
    def from_environ(cls, tool: Tool, environ: Mapping[str, str]) -> ContainerRuntime:
        """Return the runtime as the environment sets it up."""
        variable = f"COULER_{tool.upper()}"
        # Without the program podman refuses `--init`; elsewhere than on Linux it runs in a machine
        # of its own, which has it.
        has_init = tool == "docker" or sys.platform != "linux" or any(map(os.path.exists, _INITS))
        return cls(
            tool,
            _split(variable, environ) or (tool,),
            _split(f"{variable}_ARGS", environ),
            environ.get("COULER_CONTAINER_USER") or "auto",
            has_init,
        )

    def check(self, workflow: Workflow) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each path that no container has."""
        if any(isinstance(step.action, Container | Script) for step in all_steps(workflow)):
            self._probe()
        for scope in scopes(workflow):
            for step in scope.steps:
                path = scope.path_of(step)
                yield from refuse_paths(step, path, refuse_absolute=lambda _path: None)

    def is_bare(self, step: Step) -> bool:
        """Return False: what lies beside the work folder must not be seen in the container."""
        return False

    def prepare(self, job: Job) -> None:
        """Make the folders of an attempt, which every user of an image can write."""
        job.work.mkdir(exist_ok=True)
        job.work.chmod(0o777)
        make_volumes(job)
        for one in mounted(job):
            if not one.source.exists():
                raise CannotStartError(
                    f"{one.source}, which it mounts at {one.path}, does not exist"
                )
            if one.source.is_relative_to(job.volumes_folder):
                one.source.chmod(0o777)

    def place(self, job: Job, path: str) -> Path:
        """Return where a declared path lies: in the work folder, a volume, or beside them."""
        inner = inside_work(path)
        if inner is not None:
            return job.work / inner
        path = os.path.normpath(path)
        for one in reversed(mounted(job)):
            inner = below(path, one.path)
            if inner is not None:
                return one.source / inner
        return in_mirror(job.folder / "root", path)

    def seen(self, job: Job, path: str) -> str:
        """Return a declared path as the process sees it."""
        inner = inside_work(path)
        return path if inner is None else os.path.normpath(f"{WORK_DIR}/{inner}")

    def launch(self, job: Job, words: Sequence[str], environ: Mapping[str, str]) -> Launch:
        """Return the client that runs the container of an attempt."""
        declared = {"COULER_WORK": WORK_DIR, **environ}
        by_name = {name: text for name, text in declared.items() if not _is_clients(name, job)}
        run = [*self.command, "run", *self.run_args]
        run += ["--name", job.name, "--label", f"{RUN_LABEL}={job.run_id}"]
        # What it writes is read from the client; the tool need not keep it as well.
        run += ["--log-driver", "none", "--security-opt", "label=disable"]
        if self.has_init:
            run.append("--init")
        if job.host_network:
            run += ["--network", "host"]
        for alias in job.host_aliases:
            run += [word for name in alias.names for word in ("--add-host", f"{name}:{alias.ip}")]
        for name in by_name:
            run += ["--env", name]
        run += _others(job, {k: v for k, v in declared.items() if k not in by_name})
        for source, target, read_only in self._binds(job):
            run += _bind(source, target, read_only=read_only)
        run += [*self._directory(job), *self._user(), *self._resources(job)]
        if job.step.pull_policy is not None:
            run += ["--pull", _PULL[job.step.pull_policy]]
        run += self._program(job, words)
        return Launch(tuple(run), {**job.inherited, **by_name}, job.folder)

    def reason(self, job: Job, exit_code: int) -> str | None:
        """Return why the container did not start; the client has written the rest."""
        if exit_code not in _NOT_STARTED:
            return None
        done = self._call("inspect", "--type", "container", "--format", _STATE, job.name)
        status, _, told = done.stdout.strip().partition(" ")
        if done.returncode == 0 and status not in ("created", "configured", "initialized"):
            return None
        because = f": {told}" if told else "; its log tells why"
        return f'{self.name} cannot start a container of the image "{job.action.image}"{because}'

    def collect(self, job: Job) -> None:
        """Copy the outputs at absolute paths out of the container."""
        inputs = [given.path for given in job.step.inputs if given.path is not None]
        outputs = [output.path for output in job.step.outputs if output.path is not None]
        for path in outputs:
            if path not in absolute_paths(job.step) or any(below(path, one) for one in inputs):
                continue
            place = self.place(job, path)
            if place.is_relative_to(job.folder / "root"):
                place.parent.mkdir(parents=True, exist_ok=True)
                self._copy(job, path, place)
        refused = self._own_again(job)
        if refused is not None:
            raise EngineError(
                f"{self.name} cannot give back files of the image's user: {refused}. Name a user "
                "whose files you can read (COULER_CONTAINER_USER)"
            )

    def end(self, job: Job) -> None:
        """Remove the container, with all that runs in it."""
        self._remove([job.name])
        self._own_again(job)  # so that the folder can be removed; if not, it stays

    def end_orphans(self, run_id: str) -> int:
        """Remove the containers of a run and return how many there were."""
        try:
            done = self._call("ps", "--all", "--quiet", "--filter", f"label={RUN_LABEL}={run_id}")
        except OSError as error:
            raise EngineError(
                f"{self.command[0]} cannot be run here ({error.strerror}), and an earlier session "
                f"of {run_id} may have left containers of {self.name}. Install it again, or begin "
                "a new run"
            ) from error
        if done.returncode != 0:
            raise EngineError(f"{self.name} does not tell its containers: {done.stderr.strip()}")
        found = done.stdout.split()
        if found:
            self._remove(found)
        return len(found)

    def _probe(self) -> None:
        try:
            done = self._call("version")
        except OSError as error:  # a folder of PATH that is closed to the user hides the reason
            raise ConfigurationError(
                f"{self.command[0]} cannot be run here ({error.strerror}). Install {self.name}, or "
                "run steps as processes of this machine"
            ) from error
        if done.returncode != 0:
            raise ConfigurationError(f"{self.name} does not answer: {done.stderr.strip()}")

    def _call(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [*self.command, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_WAIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise EngineError(f"{self.name} {words[0]} did not end in {_WAIT_S:g} s") from None

    def _remove(self, containers: Iterable[str]) -> None:
        at_once = ["--time", "0"] if self.name == "podman" else []
        done = self._call("rm", "--force", "--volumes", *at_once, *containers)
        if done.returncode != 0 and "no such container" not in done.stderr.lower():
            raise EngineError(f"{self.name} cannot remove a container: {done.stderr.strip()}")

    def _copy(self, job: Job, path: str, place: Path) -> None:
        follow = ["--follow-link"] if self.name == "docker" else []
        done = self._call("cp", *follow, f"{job.name}:{path}", str(place))
        is_missing = any(words in done.stderr.lower() for words in _MISSING)
        if done.returncode != 0 and not is_missing:
            raise EngineError(f"{self.name} cannot copy {path}: {done.stderr.strip()}")

    def _own_again(self, job: Job) -> str | None:
        """Take over files left by users of images, which the engine cannot read or remove."""
        own = os.getuid()
        if own == 0 or not _has_others(job.folder, own):
            return None
        if self.name == "podman":  # its users are numbers that only it may change
            done = self._call("unshare", "chown", "-R", "0:0", str(job.folder))
        else:
            words = ["run", *self.run_args, "--rm", "--user", "0", "--pull", "never"]
            words += _bind(job.folder, WORK_DIR, read_only=False)
            words += ["--entrypoint", "chown", job.action.image, "-R", f"{own}:{os.getgid()}"]
            done = self._call(*words, WORK_DIR)
        return done.stderr.strip() if done.returncode != 0 else None

    def _binds(self, job: Job) -> Iterator[tuple[Path, str, bool]]:
        yield job.work, WORK_DIR, False
        for one in mounted(job):
            yield one.source, one.path, one.read_only
        for given in job.step.inputs:
            if given.path is not None and given.path in absolute_paths(job.step):
                place = self.place(job, given.path)
                if place.is_relative_to(job.folder / "root") and place.exists():
                    yield place, given.path, False
        if isinstance(job.action, Script):
            script = job.folder / "script"
            script.write_bytes(job.action.source.encode())
            script.chmod(0o644)
            yield script, SCRIPT_PATH, True

    def _directory(self, job: Job) -> list[str]:
        wanted = job.step.working_dir
        if wanted is None:
            return []
        place = self.place(job, wanted)
        if inside_work(wanted) is not None:
            place.mkdir(parents=True, exist_ok=True)
            place.chmod(0o777)
        return ["--workdir", self.seen(job, wanted)]

    def _user(self) -> list[str]:
        match self.user:
            case "image":
                return []
            case "auto" if self.name == "docker" and os.getuid() != 0:
                return ["--user", f"{os.getuid()}:{os.getgid()}"]
            case "auto":
                return []
        return ["--user", self.user]

    def _resources(self, job: Job) -> list[str]:
        wanted = job.step.resources or Resources()
        words = []
        if wanted.cpu_limit is not None:
            words += ["--cpus", f"{parse_quantity(wanted.cpu_limit):f}"]
        if wanted.memory_limit is not None:
            words += ["--memory", f"{int(parse_quantity(wanted.memory_limit))}b"]
        if wanted.gpu is not None:
            devices = job.gpus or tuple(map(str, range(wanted.gpu.count)))
            if self.name == "docker":
                # Its value is a line of CSV, in which devices are one field.
                words += ["--gpus", f'"device={",".join(devices)}"']
            for device in devices if self.name == "podman" else ():
                words += ["--device", f"nvidia.com/gpu={device}"]
        return words

    def _program(self, job: Job, words: Sequence[str]) -> list[str]:
        action = job.action
        if isinstance(action, Script):
            words = (*_interpreter(action), SCRIPT_PATH)
        elif not action.command:
            return [action.image, *words]
        # Podman reads a value that begins with "[" as JSON, which "[" is not.
        program = json.dumps([words[0]]) if self.name == "podman" else words[0]
        return ["--entrypoint", program, action.image, *words[1:]]


_STATE = "{{.State.Status}} {{.State.Error}}"
_MISSING = ("could not be found", "could not find the file", "no such file or directory")


def _split(variable: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(environ.get(variable, "")))
    except ValueError as error:
        raise ConfigurationError(f"{variable} cannot be read: {error}") from None


def _is_clients(name: str, job: Job) -> bool:
    """Return whether the client would read a variable, or has it already."""
    upper = name.upper()
    return upper.startswith(_CLIENTS_OWN) or upper.endswith("_PROXY") or name in job.inherited


def _others(job: Job, variables: Mapping[str, str]) -> list[str]:
    """Give variables that must not reach the client: in a file, which cannot hold line ends."""
    words = []
    lines = []
    for name, text in variables.items():
        if any(end in text for end in "\n\r"):
            words += ["--env", f"{name}={text}"]
        else:
            lines.append(f"{name}={text}\n")
    if lines:
        file = job.folder / "environ"
        file.touch(mode=0o600)
        file.write_text("".join(lines), encoding="utf-8", errors="surrogateescape")
        words += ["--env-file", str(file)]
    return words


def _bind(source: Path, target: str, *, read_only: bool) -> list[str]:
    if not any(mark in f"{source}{target}" for mark in ',"'):
        options = ",readonly" if read_only else ""
        return ["--mount", f"type=bind,source={source},destination={target}{options}"]
    if ":" in f"{source}{target}":
        raise CannotStartError(f"{source} cannot be mounted at {target}: it has both , and :")
    return ["--volume", f"{source}:{target}{':ro' if read_only else ''}"]


def _interpreter(action: Script) -> tuple[str, ...]:
    """The command of a script, after the installation of what it asks for."""
    if not action.to_install:
        return action.command
    install = install_command(action.to_install)
    return ("sh", "-c", f'{install} && exec "$@"', "sh", *action.command)


def _has_others(folder: Path, own: int) -> bool:
    """Return whether files of other users lie in a folder; one that is closed is theirs."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:  # the engine has removed it
        return False
    except PermissionError:
        return True
    return any(
        entry.stat(follow_symlinks=False).st_uid != own
        or (entry.is_dir(follow_symlinks=False) and _has_others(Path(entry.path), own))
        for entry in entries
    )
