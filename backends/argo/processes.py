"""What a template says of the processes of a step: its own, those before and those beside it."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

from couler.backends.argo import pods
from couler.backends.argo.large import argument_flag, way_of_arguments, way_of_script
from couler.backends.argo.names import input_place
from couler.backends.argo.pods import Tree, pod_container
from couler.backends.argo.tags import BRACE_VARIABLE, protect, uses_brace_variable
from couler.ir import kubernetes_pods
from couler.ir.pods import container_texts
from couler.ir.walk import pod_containers as containers_of_pod
from couler.ir.wire import is_file
from couler.ir.workflow import MAIN, WORK_DIR, Container, ContainerSet, Input, Script, Step

if t.TYPE_CHECKING:
    from couler.backends.argo.templates import Places

WORK_VOLUME = "couler-work"


class Processes:
    """Writes the containers of one template."""

    def __init__(self, step: Step, places: Places) -> None:
        self._step = step
        self._places = places

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
        if action.packages:
            import shlex

            from couler.ir.packages import install_command

            install = install_command(action.packages)
            words = " ".join(shlex.quote(word) for word in command)
            command = ["sh", "-c", f'{install} && exec {words} "$0"']
        tree: Tree = {"image": action.image, "command": [protect(word) for word in command]}
        way = way_of_script(self._step, action)
        if way != "argument":
            tree["source"] = action.source if way == "plain" else protect(action.source)
            return {"script": self._with_pod_fields(tree)}
        # Nobody protects a source from Argo's tags, and the kubelet reads it by chance only; both
        # are known of an argument.
        flag = argument_flag(action.command)
        assert flag is not None, "check() refuses what has no other way"
        if action.packages:
            tree["command"][-1] = tree["command"][-1].removesuffix(' "$0"') + f' {flag} "$0"'
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

    @property
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

    @property
    def mounts_work_dir(self) -> bool:
        """Whether the folder must be made: a typed function makes it by itself."""
        action = self._step.action
        makes_it = isinstance(action, Script) and action.function is not None
        if makes_it and any("COULER_WORK" in text for text in self._shared_texts()):
            makes_it = False  # it would make the folder too late, or out of sight of the others
        runs = isinstance(action, Container | Script | ContainerSet)
        return runs and self._uses_work_dir and not makes_it

    def _shared_texts(self) -> Iterator[str]:
        """Yield the texts of the other containers that see the folders of the step."""
        for container in containers_of_pod(self._step):
            if container.mirror_mounts or isinstance(self._step.action, ContainerSet):
                for _, text in container_texts(container):
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
        return mounts

    def _environment(self) -> list[Tree]:
        step = self._step
        environment: list[Tree] = []
        if self._uses_work_dir:
            environment.append({"name": "COULER_WORK", "value": WORK_DIR})
        environment += self._input_variables()
        for given in step.env:
            if given.value is None:
                environment.append(kubernetes_pods.variable_source(given))
            else:
                value = self._places.text(f"env_{given.name}")
                environment.append({"name": given.name, "value": value})
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
