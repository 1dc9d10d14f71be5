"""What a template says of the processes of a step: its own, those before and those beside it."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from couler.backends.argo import pods
from couler.backends.argo.names import input_place
from couler.backends.argo.pods import Tree, pod_container
from couler.backends.argo.tags import (
    BRACE_VARIABLE,
    has_tag,
    protect,
    uses_brace_variable,
    wire_text,
)
from couler.ir import kubernetes_pods
from couler.ir.code_files import CODE_DIR, CODE_MOUNT, uses_code
from couler.ir.glue import HandsOn, is_run, taking_text
from couler.ir.kubernetes_pods import needs_dollars
from couler.ir.semantics import SHORT_TYPES
from couler.ir.semantics.wire import dump_json
from couler.ir.values import TEXTS, Literal, Text, is_file
from couler.ir.walk import pod_containers as containers_of_pod, step_values
from couler.ir.workflow import MAIN, WORK_DIR, Container, ContainerSet, Input, Job, Script, Step
from couler.ir.yaml_writer import dump as dump_yaml

if t.TYPE_CHECKING:
    from couler.backends.argo.templates import Places

WORK_VOLUME = "couler-work"


def hands_on(step: Step) -> HandsOn:
    """Return how the script of a step hands its outputs on."""
    return "files" if step.foreach is None else "items"


class Processes:
    """Writes the containers of one template."""

    def __init__(self, step: Step, places: Places, *, mounts_code: bool) -> None:
        self._step = step
        self._places = places
        self._mounts_code = mounts_code and uses_code(step)

    def container(self, action: Container) -> Tree:
        """Return the container of a command."""
        tree: Tree = {"image": action.image}
        if action.command:
            tree["command"] = [
                protect(word) if isinstance(word, str) else self._places.text(f"word_{index}")
                for index, word in enumerate(action.command)
            ]
        if action.args:
            is_read = way_of_arguments(action.args) != "config_map"
            text = self._places.text if is_read else self._places.plain
            tree["args"] = [text(f"arg_{index}") for index in range(len(action.args))]
        return self._with_pod_fields(tree)

    def container_set(self, action: ContainerSet) -> Tree:
        """Return the containers; what the step takes in is for `main`, the work folder for all."""
        work_dir = WORK_DIR if self.mounts_work_dir else None
        containers = []
        for one in action.containers:
            tree = pod_container(one, self._places.text, work_dir)
            if one.name == MAIN and self._step.inputs:
                tree["env"] = [*self._input_variables(), *tree.get("env", ())]
            if one.depends_on:
                tree["dependencies"] = list(one.depends_on)
            containers.append(tree)
        fields: Tree = {"containers": containers, "volumeMounts": self._mounts()}
        if action.retry is not None:
            fields["retryStrategy"] = {"retries": str(action.retry.limit)}
            if action.retry.wait_s is not None:
                fields["retryStrategy"]["duration"] = pods.duration(action.retry.wait_s)
        return {name: value for name, value in fields.items() if value}

    def script(self, action: Script) -> Tree:
        """Return the fields of a template that hand a script over as it is."""
        command = list(action.command)
        if action.to_install:
            from couler.packages import install_command

            install = install_command(action.to_install)
            command = ["sh", "-c", f'{install} && exec "$@"', "sh", *command]
        tree: Tree = {"image": action.image, "command": [protect(word) for word in command]}
        way = way_of_script(self._step, action)
        if way != "argument":
            tree["source"] = action.source if way == "plain" else protect(action.source)
            return {"script": self._with_pod_fields(tree)}
        # Nobody protects a source from Argo's tags, and the kubelet reads it by chance only; both
        # are known of an argument.
        flag = argument_flag(action.command)
        assert flag is not None, "check() refuses what has no other way"
        if is_run(action.command[-1]):
            tree["command"][-1] = taking_text(action.command[-1])
        else:
            tree["command"].append(flag)
        tree["args"] = [protect(action.source)]
        return {"container": self._with_pod_fields(tree)}

    def _with_pod_fields(self, tree: Tree) -> Tree:
        step = self._step
        environment = self._environment()
        texts = [*tree.get("command", ()), *tree.get("args", ())]
        texts += [entry.get("value", "") for entry in environment]
        if any(uses_brace_variable(text) for text in texts):
            environment.insert(0, {"name": BRACE_VARIABLE, "value": "{"})
        fields: Tree = {
            "env": environment,
            "envFrom": [kubernetes_pods.env_from(source) for source in step.env_from],
            "resources": kubernetes_pods.resources(step.resources) if step.resources else None,
            "volumeMounts": self._mounts(),
            "workingDir": step.working_dir and work_path(step.working_dir),
            "imagePullPolicy": step.pull_policy,
            **kubernetes_pods.container_settings(step.container),
        }
        tree.update((name, value) for name, value in fields.items() if value)
        return tree

    @cached_property
    def _uses_work_dir(self) -> bool:
        """Whether the process can tell that it has a work folder."""
        step = self._step
        paths = [step.working_dir, *(output.path for output in step.outputs)]
        if step.inputs or any(map(uses_work_dir, paths)):
            return True
        action = step.action
        texts = [place.text for place in self._places]
        if isinstance(action, Container):
            texts += [word for word in action.command if isinstance(word, str)]
        elif isinstance(action, Script):
            texts.append(action.source)
        texts += self._shared_texts()
        return any(text is not None and "COULER_WORK" in text for text in texts)

    @cached_property
    def mounts_work_dir(self) -> bool:
        """Whether the folder must be made: a typed function makes it by itself."""
        action = self._step.action
        makes_it = self._step.is_function
        if makes_it and any("COULER_WORK" in text for text in self._shared_texts()):
            makes_it = False  # it would make the folder too late, or out of sight of the others
        if any(given.optional for given in self._step.inputs):
            makes_it = False  # Kubernetes makes a folder where the file is missing
        runs = isinstance(action, Container | Script | ContainerSet)
        return runs and self._uses_work_dir and not makes_it

    def _shared_texts(self) -> Iterator[str]:
        """Yield the texts of the other containers that see the folders of the step."""
        for container in containers_of_pod(self._step):
            if container.mirror_mounts or isinstance(self._step.action, ContainerSet):
                for _, text in TEXTS.visit(container):
                    if isinstance(text, str):
                        yield text

    def pod_containers(self) -> Tree:
        """Return the containers before and beside that of the step."""
        step = self._step
        work_dir = WORK_DIR if self.mounts_work_dir else None
        fields: Tree = {
            name: [
                pod_container(one, self._places.text, work_dir if one.mirror_mounts else None)
                for one in containers
            ]
            for name, containers in (
                ("initContainers", step.init_containers),
                ("sidecars", step.sidecars),
            )
        }
        return {name: containers for name, containers in fields.items() if containers}

    def _mounts(self) -> list[Tree]:
        mounts = [kubernetes_pods.mount(wanted) for wanted in self._step.mounts]
        if self.mounts_work_dir:
            mounts.insert(0, {"name": WORK_VOLUME, "mountPath": WORK_DIR})
        if self._mounts_code:
            mounts.append(CODE_MOUNT)
        return mounts

    def _environment(self) -> list[Tree]:
        step = self._step
        environment: list[Tree] = []
        if self._uses_work_dir and not step.is_function:  # which sees to it itself
            environment.append({"name": "COULER_WORK", "value": WORK_DIR})
        environment += self._input_variables()
        modules = CODE_DIR if uses_code(step) else ""
        for given in step.env:
            if given.value is None:
                environment.append(kubernetes_pods.variable_source(given))
            else:
                value = self._places.text(f"env_{given.name}")
                if modules and given.name == "PYTHONPATH":
                    value, modules = f"{modules}:{value}", ""
                environment.append({"name": given.name, "value": value})
        if modules:
            environment.append({"name": "PYTHONPATH", "value": modules})
        return environment

    def _input_variables(self) -> Iterator[Tree]:
        for given in self._step.inputs:
            if is_file(given.type):
                value = input_path(given)
            else:
                value = self._places.text(input_place(given.name))
            yield {"name": f"COULER_INPUT_{given.name}", "value": value}


def uses_work_dir(path: str | None) -> bool:
    """Return whether a declared path starts at the work folder."""
    return path is not None and not path.startswith("/")


def work_path(path: str) -> str:
    """Return the absolute path of a declared one."""
    return f"{WORK_DIR}/{path}" if uses_work_dir(path) else path


def input_path(given: Input) -> str:
    """Return where a process finds a file that it takes in."""
    return work_path(given.path or f"inputs/{given.name}")


OFFLOAD_BYTES = 131_072
"""Most bytes of a template, or of the arguments of a container, that the kubelet reads."""

_SURELY_KEPT = OFFLOAD_BYTES - 16 * 1024
"""A template whose known texts take less is below `OFFLOAD_BYTES` with all else in it."""

ArgumentsWay: t.TypeAlias = t.Literal["kubelet", "config_map", "none"]
"""How arguments travel; `none` if they would be changed either way."""

ScriptWay: t.TypeAlias = t.Literal["plain", "protected", "argument", "none"]
"""How a script travels: as it is, protected from the kubelet, as an argument of the interpreter."""

ManifestWay: t.TypeAlias = t.Literal["plain", "protected", "none"]
"""How a manifest travels: past the kubelet or protected from it; `none` if nobody can tell."""

_FLAGS = {
    **dict.fromkeys(("python", "sh", "bash", "dash", "ash", "zsh", "ksh"), "-c"),
    **dict.fromkeys(("perl", "ruby", "node"), "-e"),
}
_GO_ESCAPES = re.compile("[<>&\u2028\u2029]")
_CHANGED_IN_SCRIPT = re.compile(r"\$\$|\$\((?=[^)]*[A-Z_])[-.\w]+\)", re.ASCII)


def json_bytes(text: str) -> int:
    r"""Return how many bytes a text takes as JSON of Go."""
    written = json.dumps(text, ensure_ascii=False)
    return len(written.encode()) + sum(
        6 - len(found[0].encode()) for found in _GO_ESCAPES.finditer(text)
    )


def words_bytes(words: Iterable[str]) -> int:
    """Return how many bytes a list of texts takes as JSON."""
    sizes = [json_bytes(word) + 1 for word in words]
    return 1 + max(1, sum(sizes))


def constant_text(text: Text) -> str | None:
    """Return a text that is known before the run, or None."""
    if isinstance(text, str):
        return text
    return wire_text(text.value) if isinstance(text, Literal) else None


def way_of_arguments(args: Sequence[Text]) -> ArgumentsWay:
    """Return how the arguments of a container travel, as far as they are known before the run."""
    known = [text if isinstance(text, str) else constant_text(text) for text in args]
    if sum(map(len, filter(None, known))) * 6 < OFFLOAD_BYTES // 2:  # all escaped and protected
        return "kubelet"
    texts = [text for text in known if text is not None]
    if words_bytes(text or "" for text in known) > OFFLOAD_BYTES:
        return "none" if any(map(has_tag, texts)) else "config_map"
    if None in known or words_bytes(map(protect, texts)) <= OFFLOAD_BYTES:
        return "kubelet"
    return "none"


def argument_flag(command: Sequence[str]) -> str | None:
    """Return the option by which an interpreter takes a script as an argument, if it is known."""
    return _FLAGS.get(command[0].rsplit("/", 1)[-1].rstrip("0123456789."))


def way_of_script(step: Step, action: Script) -> ScriptWay:
    """Return how the script of a step travels."""
    source = action.source
    if has_tag(source):
        return _as_argument(action)
    if _CHANGED_IN_SCRIPT.search(source) is None or json_bytes(source) > OFFLOAD_BYTES:
        return "plain"
    if _is_surely_kept(step, source):
        return "protected"
    return _as_argument(action)


def way_of_manifest(job: Job) -> ManifestWay:
    """Return how the manifest of a resource travels, as far as it is known before the run."""
    text = dump_json(job.manifest)
    if len(text) * 12 < _SURELY_KEPT:  # all of it escaped and protected
        return "protected"
    size = json_bytes(dump_yaml(job.manifest))
    if size > OFFLOAD_BYTES:
        return "plain"
    is_read = needs_dollars(text) or any(given.type not in SHORT_TYPES for given in job.values)
    return "none" if is_read and size * 2 >= _SURELY_KEPT else "protected"


def _as_argument(action: Script) -> ScriptWay:
    if argument_flag(action.command) is None:
        return "none"
    return "argument" if way_of_arguments([action.source]) == "kubelet" else "none"


def _is_surely_kept(step: Step, source: str) -> bool:
    """Whether the kubelet reads the template, whatever the values are at run time."""
    bounded = {f"inputs.{given.name}" for given in step.inputs if given.type in SHORT_TYPES}
    for field, value in step_values(step):
        of_task = field in ("when", "loop") or field.startswith("foreach.")
        if not of_task and field not in bounded and constant_text(value) is None:
            return False
    protection = 2 if needs_dollars(source) else 1
    rest = step.model_dump_json(exclude={"action": {"source", "call"}}, exclude_defaults=True)
    return json_bytes(source) * protection + json_bytes(rest) * 2 < _SURELY_KEPT
