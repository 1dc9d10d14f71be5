"""The template of a step that runs something: container, script, resource, http, suspend."""

from __future__ import annotations

import math
import shlex
import typing as t
from collections.abc import Iterator, Mapping, Sequence

from couler.backends.argo import files, pods
from couler.backends.argo.cachekey import memo_key
from couler.backends.argo.containers import container_settings, pod_container
from couler.backends.argo.expressions import tag
from couler.backends.argo.large import argument_flag, way_of_arguments, way_of_script
from couler.backends.argo.locks import synchronization
from couler.backends.argo.lower import writes_gather_files
from couler.backends.argo.metrics import metrics
from couler.backends.argo.names import input_place
from couler.backends.argo.own import facts_of_template, response_condition
from couler.backends.argo.pods import Tree
from couler.backends.argo.resources import resource_manifest
from couler.backends.argo.runs import DISPLAY_NAME, step_pod
from couler.backends.argo.scope import is_stdout, wire_text
from couler.backends.argo.tags import Tagged, variable
from couler.backends.argo.text import (
    BRACE_VARIABLE,
    protect,
    uses_brace_variable,
)
from couler.ir.actions import MAIN, ContainerSet, Plugin, TemplateCall
from couler.ir.cachekey import definition_digest
from couler.ir.locks import locks_of
from couler.ir.pods import container_texts
from couler.ir.storage import Volume
from couler.ir.walk import pod_containers
from couler.ir.wire import is_file
from couler.ir.workflow import (
    WORK_DIR,
    Container,
    Group,
    Http,
    Input,
    Job,
    Output,
    Script,
    Step,
    Suspend,
)

DESCRIPTION = "workflows.argoproj.io/description"
"""Annotation that Argo shows to people."""

WORK_VOLUME = "couler-work"


class TemplateOptions(t.NamedTuple):
    """Settings that reach into templates."""

    gpu_type_label: str
    volumes: Mapping[str, Volume]
    """Of the workflow, by name."""


class Filled(t.NamedTuple):
    """A place for a text in a template, and what fills it."""

    name: str
    text: str | None
    """The text, or None where it is a parameter."""
    is_delicate: bool
    """The parameter's value may hold what the kubelet or a plain tag would change."""


def build_template(
    step: Step,
    name: str,
    places: Sequence[Filled],
    options: TemplateOptions,
    *,
    gathers: bool = False,
) -> Tree:
    """Return the template of a step that is no group.

    Parameters
    ----------
    step
        The step, or the first of those that share the template.
    name
        Of the template.
    places
        Its places for text, in the order of `holes_of`.
    options
        Settings.
    gathers
        Its outputs are gathered from a foreach over the step itself.
    """
    return _Builder(step, name, places, options, gathers).build()


def file_outputs(step: Step) -> Iterator[Output]:
    """Yield the outputs that a process keeps in the repository, under a key of our own."""
    return (
        output
        for output in step.outputs
        if is_file(output.type) and output.value is None and output.at is None
    )


def key_parameter(output: Output) -> str:
    """Return the name of the parameter that holds where an output is kept."""
    return f"couler_key_{output.name}"


class _Builder:
    def __init__(
        self,
        step: Step,
        name: str,
        places: Sequence[Filled],
        options: TemplateOptions,
        gathers: bool,
    ) -> None:
        self._step = step
        self._name = name
        self._places = {place.name: place for place in places}
        self._options = options
        self._gathers = gathers

    def build(self) -> Tree:
        """Return the template."""
        step = self._step
        template: Tree = {"name": self._name}
        inputs = self._inputs()
        if inputs:
            template["inputs"] = inputs
        outputs = self._outputs()
        if outputs:
            template["outputs"] = outputs
        annotations = dict(step.annotations)
        if isinstance(step.action, Suspend) and step.action.message is not None:
            annotations.setdefault(DESCRIPTION, step.action.message)
        pod = pods.metadata(step.labels.items(), annotations.items())
        if pod:
            template["metadata"] = pod
        template.update(self._policies())
        if step.display_name is not None:
            template["annotations"] = {DISPLAY_NAME: step.display_name}
        template.update(files.archive_location(step, self._plain))
        if self._mounts_work_dir:
            template["volumes"] = [{"name": WORK_VOLUME, "emptyDir": {}}]
        template.update(self._action())
        template.update(self._pod_containers())
        return template

    # texts -----------------------------------------------------------------------------------

    def _reference(self, name: str, *, guarded: bool) -> Tagged:
        """A tag for a parameter; guarded against the kubelet, which would change dollars."""
        if not self._places[name].is_delicate:
            return variable(f"inputs.parameters.{name}")
        if guarded:
            return tag(f"replace(inputs.parameters.{name}, '$', '$$')")
        return tag(f"inputs.parameters.{name}")

    def _text(self, name: str) -> str:
        """A text for a process: command, arguments, environment."""
        text = self._places[name].text
        return self._reference(name, guarded=True) if text is None else protect(text)

    def _plain(self, name: str) -> str:
        """A text that no kubelet reads: keys, requests."""
        text = self._places[name].text
        return self._reference(name, guarded=False) if text is None else text

    # inputs and outputs ----------------------------------------------------------------------

    def _inputs(self) -> Tree:
        is_plugin = isinstance(self._step.action, Plugin)  # it finds all of them by their names
        parameters = [
            {"name": place.name}
            if place.text is None
            else {"name": place.name, "value": place.text}
            for place in self._places.values()
            if place.text is None or is_plugin
        ]
        parameters += [{"name": key_parameter(output)} for output in file_outputs(self._step)]
        artifacts = [self._input_file(given) for given in self._step.inputs if is_file(given.type)]
        fields = {"parameters": parameters, "artifacts": artifacts}
        return {name: entries for name, entries in fields.items() if entries}

    def _outputs(self) -> Tree:
        parameters: list[Tree] = []
        artifacts: list[Tree] = []
        for output in self._step.outputs:
            if is_file(output.type):
                artifacts.append(self._artifact(output))
            elif output.json_path is not None or output.jq is not None:
                field = "jsonPath" if output.jq is None else "jqFilter"
                source: Tree = {field: output.json_path or output.jq}
                if output.default is not None:
                    source["default"] = wire_text(output.default)
                parameters.append({"name": output.name, "valueFrom": source})
            elif not is_stdout(self._step, output) and output.path is not None:
                path = work_path(output.path)
                if self._gathers and writes_gather_files(self._step):
                    path += ".gather"
                source = {"path": path}
                if output.default is not None:
                    source["default"] = wire_text(output.default)
                parameters.append({"name": output.name, "valueFrom": source})
            elif isinstance(self._step.action, Suspend | Plugin):
                source = {"supplied": {}}
                if output.default is not None:
                    source["default"] = wire_text(output.default)
                parameters.append({"name": output.name, "valueFrom": source})
        fields = {"parameters": parameters, "artifacts": artifacts}
        return {name: entries for name, entries in fields.items() if entries}

    def _input_file(self, given: Input) -> Tree:
        # Without an archive that is stated Argo unpacks what looks like one.
        tree: Tree = {
            "name": given.name,
            "path": input_path(given),
            "archive": files.archive(given.archive),
        }
        if given.at is not None:
            tree |= files.location(
                given.at, lambda field: self._plain(files.input_text(given, field))
            )
        else:
            tree["s3"] = {"key": self._plain(input_place(given.name))}
        if given.optional:
            tree["optional"] = True
        if given.mode is not None:
            tree["mode"] = given.mode
        if given.recurse_mode:
            tree["recurseMode"] = True
        return tree

    def _artifact(self, output: Output) -> Tree:
        tree: Tree = {
            "name": output.name,
            "path": work_path(output.path or f"outputs/{output.name}"),
            "archive": files.archive(output.archive),
        }
        if output.at is not None:
            tree |= files.location(
                output.at, lambda field: self._plain(files.output_text(output, field))
            )
        else:
            tree["s3"] = {"key": variable(f"inputs.parameters.{key_parameter(output)}")}
        if output.optional:
            tree["optional"] = True
        if output.removal is not None:
            tree["artifactGC"] = files.removal(output.removal)
        return tree

    # policies --------------------------------------------------------------------------------

    def _policies(self) -> Tree:
        step = self._step
        fields: Tree = {}
        if step.retry is not None and step.retry.limit:
            fields["retryStrategy"] = pods.retry_strategy(step.retry)
        if step.timeout_s is not None and not isinstance(step.action, Http):
            fields["activeDeadlineSeconds"] = math.ceil(step.timeout_s)
        if step.cache is not None:
            fields["memoize"] = self._memoize()
        if step.mutex is not None or step.locks:
            fields["synchronization"] = synchronization(locks_of(step))
        if step.daemon:
            fields["daemon"] = True
        if step.metrics:
            fields["metrics"] = metrics(step.metrics, facts_of_template(), self._plain)
        fields.update(pods.placement(step, self._options.gpu_type_label))
        if step.pod is not None:
            fields.update(step_pod(step.pod))
        return fields

    def _memoize(self) -> Tree:
        cache = self._step.cache
        assert cache is not None
        texts = [(place.name, place.text) for place in self._places.values()]
        tree: Tree = {
            "key": memo_key(definition_digest(self._step, self._options.volumes), texts),
            # Required by the schema; empty stands for any age.
            "maxAge": "" if cache.max_age_s is None else pods.duration(cache.max_age_s),
            "cache": {"configMap": {"name": cache.name or f"couler-{self._name}"}},
        }
        return tree

    # actions ---------------------------------------------------------------------------------

    def _action(self) -> Tree:
        action = self._step.action
        match action:
            case Container():
                return {"container": self._container(action)}
            case Script():
                return self._script(action)
            case Job():
                return {"resource": self._resource(action)}
            case Http():
                return {"http": self._http(action)}
            case Suspend():
                wait = {} if action.seconds is None else {"duration": pods.duration(action.seconds)}
                return {"suspend": wait}
            case ContainerSet():
                return {"containerSet": self._container_set(action)}
            case Plugin():
                return {"plugin": {action.name: pods.thaw(action.body)}}
            case TemplateCall() | Group():
                raise AssertionError("they have no template of their own")
        t.assert_never(action)

    def _container(self, action: Container) -> Tree:
        tree: Tree = {"image": action.image}
        if action.command:
            tree["command"] = [
                protect(word) if isinstance(word, str) else self._text(f"word_{index}")
                for index, word in enumerate(action.command)
            ]
        if action.args:
            text = self._plain if way_of_arguments(action.args) == "config_map" else self._text
            tree["args"] = [text(f"arg_{index}") for index in range(len(action.args))]
        return self._with_pod_fields(tree)

    def _container_set(self, action: ContainerSet) -> Tree:
        """The containers; what the step takes in is for `main`, the work folder for all."""
        work_dir = WORK_DIR if self._mounts_work_dir else None
        containers = []
        for one in action.containers:
            tree = pod_container(one, self._text, work_dir)
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

    def _script(self, action: Script) -> Tree:
        command = list(action.command)
        if action.packages:
            packages = " ".join(shlex.quote(package) for package in action.packages)
            install = f"python -m pip install --quiet --root-user-action=ignore {packages}"
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
            "envFrom": [pods.env_from(source) for source in step.env_from],
            "resources": pods.resources(step.resources) if step.resources else None,
            "volumeMounts": self._mounts(),
            "workingDir": step.working_dir and work_path(step.working_dir),
            "imagePullPolicy": step.pull_policy,
            **container_settings(step.container),
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
        texts = [place.text for place in self._places.values()]
        if isinstance(action, Container):
            texts += [word for word in action.command if isinstance(word, str)]
        elif isinstance(action, Script):
            texts.append(action.source)
        texts += self._shared_texts()
        return any(text is not None and "COULER_WORK" in text for text in texts)

    @property
    def _mounts_work_dir(self) -> bool:
        """Whether the folder must be made: a typed function makes it by itself."""
        action = self._step.action
        makes_it = isinstance(action, Script) and action.function is not None
        if makes_it and any("COULER_WORK" in text for text in self._shared_texts()):
            makes_it = False  # it would make the folder too late, or out of sight of the others
        runs = isinstance(action, Container | Script | ContainerSet)
        return runs and self._uses_work_dir and not makes_it

    def _shared_texts(self) -> Iterator[str]:
        """Yield the texts of the other containers that see the folders of the step."""
        for container in pod_containers(self._step):
            if container.mirror_mounts or isinstance(self._step.action, ContainerSet):
                for _, text in container_texts(container):
                    if isinstance(text, str):
                        yield text

    def _pod_containers(self) -> Tree:
        """The containers before and beside that of the step."""
        step = self._step
        work_dir = WORK_DIR if self._mounts_work_dir else None
        fields: Tree = {
            name: [
                pod_container(one, self._text, work_dir if one.mirror_mounts else None)
                for one in containers
            ]
            for name, containers in (
                ("initContainers", step.init_containers),
                ("sidecars", step.sidecars),
            )
        }
        return {name: containers for name, containers in fields.items() if containers}

    def _mounts(self) -> list[Tree]:
        mounts = [pods.mount(wanted) for wanted in self._step.mounts]
        if self._mounts_work_dir:
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
                environment.append(pods.variable_source(given))
            else:
                value = self._text(f"env_{given.name}")
                environment.append({"name": given.name, "value": value})
        return environment

    def _input_variables(self) -> Iterator[Tree]:
        for given in self._step.inputs:
            if is_file(given.type):
                value = input_path(given)
            else:
                value = self._text(input_place(given.name))
            yield {"name": f"COULER_INPUT_{given.name}", "value": value}

    def _resource(self, action: Job) -> Tree:
        tree: Tree = {
            "action": action.action,
            "manifest": action.manifest and resource_manifest(action, self._places),
            "manifestFrom": action.manifest_from and {"artifact": {"name": action.manifest_from}},
            "mergeStrategy": action.merge_strategy,
            "flags": list(action.flags),
            "successCondition": action.success_condition,
            "failureCondition": action.failure_condition,
            "setOwnerReference": action.set_owner_reference,
        }
        return {name: value for name, value in tree.items() if value}

    def _http(self, action: Http) -> Tree:
        tree: Tree = {"method": action.method, "url": self._plain("url")}
        headers: list[Tree] = []
        for index, header in enumerate(action.headers):
            if header.value is None:
                headers.append(pods.variable_source(header))
            else:
                headers.append({"name": header.name, "value": self._plain(f"header_{index}")})
        if headers:
            tree["headers"] = headers
        if action.body is not None:
            tree["body"] = self._plain("body")
        if action.body_base64 is not None:
            tree["bodyFrom"] = {"bytes": action.body_base64}
        if self._step.timeout_s is not None:  # it runs in no pod that could have a deadline
            tree["timeoutSeconds"] = math.ceil(self._step.timeout_s)
        if not action.verify_tls:
            tree["insecureSkipVerify"] = True
        if action.success_condition is not None:
            tree["successCondition"] = response_condition(action.success_condition)
        if action.success_codes:
            codes = ", ".join(map(str, action.success_codes))
            tree["successCondition"] = f"response.statusCode in [{codes}]"
        return tree


def uses_work_dir(path: str | None) -> bool:
    """Return whether a declared path starts at the work folder."""
    return path is not None and not path.startswith("/")


def work_path(path: str) -> str:
    """Return the absolute path of a declared one."""
    return f"{WORK_DIR}/{path}" if uses_work_dir(path) else path


def input_path(given: Input) -> str:
    """Return where a process finds a file that it takes in."""
    return work_path(given.path or f"inputs/{given.name}")
