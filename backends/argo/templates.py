"""The template of a step that runs something: container, script, resource, http, suspend."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator, Mapping, Sequence

from couler.backends.argo import files, pods
from couler.backends.argo.memoization import REPOSITORY_MARK, memo_key, memo_map
from couler.backends.argo.names import input_place
from couler.backends.argo.pods import Tree
from couler.backends.argo.processes import WORK_VOLUME, Processes, input_path, work_path
from couler.backends.argo.runs import DISPLAY_NAME, step_pod, synchronization
from couler.backends.argo.scope import is_stdout
from couler.backends.argo.tags import (
    BRACES,
    Tagged,
    decoding,
    protect,
    quote,
    tag,
    variable,
    wire_text,
)
from couler.ir import kubernetes_pods
from couler.ir.artifacts import FileRemoval, ListFiles, Location, Tar
from couler.ir.cachekey import definition_digest
from couler.ir.code_files import CODE_DIR, CODE_VOLUME, uses_code
from couler.ir.policies import locks_of
from couler.ir.storage import Volume
from couler.ir.values import TEXTS, is_file, thawed
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Group,
    Http,
    Input,
    Job,
    Output,
    Plugin,
    Script,
    Step,
    Suspend,
    TemplateCall,
)

DESCRIPTION = "workflows.argoproj.io/description"
"""Annotation that Argo shows to people."""


class TemplateOptions(t.NamedTuple):
    """Settings that reach into templates."""

    gpu_type_label: str
    volumes: Mapping[str, Volume]
    """Of the workflow, by name."""
    memo_name: str
    """What the names of the config maps of memoized steps begin with."""
    memo_maps: int
    """How many config maps there are."""
    repository: str | None
    """What tells the repository of the files from others; None if that is not known."""
    code_at: Location | None
    """Where the archive of the code is; None if steps find it in a volume."""


def build_template(
    step: Step,
    name: str,
    places: Sequence[Filled],
    options: TemplateOptions,
    *,
    gathers: bool = False,
) -> Tree:
    """Return the template of a step that is no group."""
    return _Builder(step, name, places, options, gathers).build()


def key_parameter(output: Output) -> str:
    """Return the name of the parameter that holds where an output is kept."""
    return f"couler_key_{output.name}"


def _place(output: Output) -> str:
    return variable(f"inputs.parameters.{key_parameter(output)}")


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
        self._places = Places(places)
        self._processes = Processes(step, self._places, mounts_code=options.code_at is None)
        self._options = options
        self._gathers = gathers

    def build(self) -> Tree:
        """Return the template of the step."""
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
        template.update(files.archive_location(step, self._places.plain))
        if self._processes.mounts_work_dir:
            template["volumes"] = [{"name": WORK_VOLUME, "emptyDir": {}}]
        template.update(self._action())
        template.update(self._processes.pod_containers())
        return template

    # inputs and outputs ----------------------------------------------------------------------

    def _inputs(self) -> Tree:
        is_plugin = isinstance(self._step.action, Plugin)  # it finds all of them by their names
        parameters = [
            {"name": place.name}
            if place.text is None
            else {"name": place.name, "value": place.text}
            for place in self._places
            if place.text is None or is_plugin
        ]
        parameters += [{"name": key_parameter(output)} for output in files.file_outputs(self._step)]
        artifacts = [self._input_file(given) for given in self._step.inputs if is_file(given.type)]
        if self._options.code_at is not None and uses_code(self._step):
            texts = dict(TEXTS.visit(self._options.code_at))
            place = files.location(self._options.code_at, lambda field: str(texts[field]))
            packed = {"path": CODE_DIR, "archive": files.archive(Tar())}
            artifacts.append({"name": CODE_VOLUME, **packed, **place})
        fields = {"parameters": parameters, "artifacts": artifacts}
        return {name: entries for name, entries in fields.items() if entries}

    def _outputs(self) -> Tree:
        parameters: list[Tree] = []
        artifacts: list[Tree] = []
        for output in self._step.outputs:
            source: Tree | None = None
            if is_file(output.type):
                artifacts.append(self._artifact(output))
                if (self._step.cache is not None or self._gathers) and output.at is None:
                    # Readers learn where it is: of a hit in an earlier run, of items in a list.
                    parameters.append({"name": output.name, "value": _place(output)})
            elif output.json_path is not None or output.jq is not None:
                field = "jsonPath" if output.jq is None else "jqFilter"
                source = {field: output.json_path or output.jq}
            elif not is_stdout(self._step, output) and output.path is not None:
                path = work_path(output.path)
                source = {"path": path}
            elif isinstance(self._step.action, Suspend | Plugin):
                source = {"supplied": {}}
            if source is not None:
                if output.default is not None:
                    source["default"] = wire_text(output.default, output.type)
                parameters.append({"name": output.name, "valueFrom": source})
        if self._options.repository is not None and self._step.cache is not None:
            mark = {"name": REPOSITORY_MARK, "value": self._options.repository}
            parameters += [mark] if any(files.file_outputs(self._step)) else []
        fields = {"parameters": parameters, "artifacts": artifacts}
        return {name: entries for name, entries in fields.items() if entries}

    def _input_file(self, given: Input) -> Tree:
        tree: Tree = {"name": given.name, "path": input_path(given)}
        if given.at is not None or given.many or given.type == "file":
            # Without an archive that is stated Argo unpacks what looks like one.
            tree["archive"] = files.archive(given.archive)
        if given.at is not None:
            tree |= files.location(
                given.at, lambda field: self._places.plain(files.input_text(given, field))
            )
        else:
            tree["s3"] = {"key": self._places.plain(input_place(given.name))}
        if given.optional:
            tree["optional"] = True
        mode, recurse = given.mode, given.recurse_mode
        if mode is None and given.at is None and given.type == "file":
            mode, recurse = 0o755, given.many  # a bucket has no modes, and a tool must run
        if mode is not None:
            tree["mode"] = mode
        if recurse:
            tree["recurseMode"] = True
        return tree

    def _artifact(self, output: Output) -> Tree:
        tree: Tree = {
            "name": output.name,
            "path": work_path(output.path or f"outputs/{output.name}"),
            # Empty folders, modes and links are in no bucket.
            "archive": files.archive(
                Tar() if output.type == "directory" and output.at is None else output.archive
            ),
        }
        if output.at is not None:
            tree |= files.location(
                output.at, lambda field: self._places.plain(files.output_text(output, field))
            )
        else:
            tree["s3"] = {"key": _place(output)}
        if output.optional:
            tree["optional"] = True
        if output.removal is not None:
            tree["artifactGC"] = files.removal(output.removal)
        elif self._step.cache is not None:
            # It outlives its Workflow, whatever that or the installation says of files.
            tree["artifactGC"] = files.removal(FileRemoval(on="never"))
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
            from couler.backends.argo.metrics import metrics
            from couler.backends.argo.own import facts_of_template

            fields["metrics"] = metrics(step.metrics, facts_of_template(), self._places.plain)
        fields.update(pods.placement(step, self._options.gpu_type_label))
        if step.pod is not None:
            fields.update(step_pod(step.pod))
        return fields

    def _memoize(self) -> Tree:
        cache = self._step.cache
        assert cache is not None
        digest = definition_digest(self._step, self._options.volumes)
        texts = [(place.name, place.text) for place in self._places]
        where = (self._options.memo_name, self._options.memo_maps)
        name, maps = where if cache.name is None else (cache.name, 1)
        return {
            "key": memo_key(digest, texts),
            # Required by the schema; empty stands for any age.
            "maxAge": "" if cache.max_age_s is None else pods.duration(cache.max_age_s),
            "cache": {"configMap": {"name": memo_map(name, digest, texts, maps=maps)}},
        }

    # actions ---------------------------------------------------------------------------------

    def _action(self) -> Tree:
        action = self._step.action
        match action:
            case Container():
                return {"container": self._processes.container(action)}
            case Script():
                return self._processes.script(action)
            case Job():
                return {"resource": self._resource(action)}
            case Http():
                return {"http": self._http(action)}
            case Suspend():
                wait = {} if action.seconds is None else {"duration": pods.duration(action.seconds)}
                return {"suspend": wait}
            case ListFiles():
                from couler.backends.argo.listing import data

                return {"data": data(action, self._places)}
            case ContainerSet():
                return {"containerSet": self._processes.container_set(action)}
            case Plugin():
                return {"plugin": {action.name: thawed(action.body)}}
            case TemplateCall() | Group():
                raise AssertionError("they have no template of their own")
        t.assert_never(action)

    def _resource(self, action: Job) -> Tree:
        from couler.backends.argo.resources import resource_manifest

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
        from couler.backends.argo.own import response_condition

        tree: Tree = {"method": action.method, "url": self._places.plain("url")}
        headers: list[Tree] = []
        for index, header in enumerate(action.headers):
            if header.value is None:
                headers.append(kubernetes_pods.variable_source(header))
            else:
                headers.append(
                    {"name": header.name, "value": self._places.plain(f"header_{index}")}
                )
        if headers:
            tree["headers"] = headers
        if action.body is not None:
            tree["body"] = self._places.plain("body")
        if action.body_base64 is not None:
            tree["bodyFrom"] = {"bytes": action.body_base64}
        if self._step.timeout_s is not None:  # it runs in no pod that could have a deadline
            tree["timeoutSeconds"] = math.ceil(self._step.timeout_s)
        if not action.verify_tls:
            tree["insecureSkipVerify"] = True
        if action.success_condition is not None:
            tree["successCondition"] = response_condition(
                action.success_condition,
                self._step,
                lambda name: self._places.literal(input_place(name)),
            )
        if action.success_codes:
            codes = ", ".join(map(str, action.success_codes))
            tree["successCondition"] = f"response.statusCode in [{codes}]"
        return tree


class Filled(t.NamedTuple):
    """A place for a text in a template, and what fills it."""

    name: str
    text: str | None
    """The text, or None where it is a parameter."""
    is_delicate: bool
    """The parameter's value may hold what the kubelet or a plain tag would change."""
    is_encoded: bool = False
    """The braces of the parameter's value are encoded."""


class Places:
    """The places of one template by name."""

    def __init__(self, filled: Sequence[Filled]) -> None:
        self._filled = {place.name: place for place in filled}

    def __iter__(self) -> Iterator[Filled]:
        return iter(self._filled.values())

    def __getitem__(self, name: str) -> Filled:
        return self._filled[name]

    def _tag(self, name: str, *, guarded: bool) -> Tagged:
        """A tag for a parameter; guarded against the kubelet, which would change dollars."""
        if not self._filled[name].is_delicate:
            return variable(f"inputs.parameters.{name}")
        if not guarded:
            return tag(self.expression(name))
        text = f"replace(inputs.parameters.{name}, '$', '$$')"
        return tag(decoding(text, BRACES) if self._filled[name].is_encoded else text)

    def expression(self, name: str) -> str:
        """Return an expression for the value of a parameter."""
        parameter = f"inputs.parameters.{name}"
        return decoding(parameter) if self._filled[name].is_encoded else parameter

    def literal(self, name: str) -> str:
        """Return a text as a literal of an expression that Argo evaluates after its tags."""
        filled = self._filled[name]
        if filled.text is not None:
            return quote(filled.text)
        literal = tag(f"toJson(inputs.parameters.{name})")
        return decoding(literal) if filled.is_encoded else literal

    def text(self, name: str) -> str:
        """Return a text for a process: command, arguments, environment."""
        text = self._filled[name].text
        return self._tag(name, guarded=True) if text is None else protect(text)

    def plain(self, name: str) -> str:
        """Return a text that no kubelet reads: keys, requests."""
        text = self._filled[name].text
        return self._tag(name, guarded=False) if text is None else text
