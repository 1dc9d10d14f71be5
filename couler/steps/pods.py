"""Pods in the manifests of training jobs, and checks of them as of those of a workflow's steps."""

from __future__ import annotations

import functools
import re
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from couler.dsl import objects, units
from couler.dsl.builder import Builder
from couler.dsl.checks import attempt
from couler.dsl.control import text
from couler.dsl.environment import text_of
from couler.dsl.handles import Value
from couler.dsl.jobs import as_text
from couler.dsl.options import step_fields
from couler.dsl.pod_options import toleration_of
from couler.ir import storage
from couler.ir.base import FrozenDict
from couler.ir.kubernetes_pods import resources, toleration, variable_source, volume
from couler.ir.policies import Resources
from couler.ir.verify.environment import (
    check_config_key,
    check_mount,
    check_secret_key,
    check_variable_names,
    check_volume,
)
from couler.ir.verify.names import (
    Add,
    check_annotations,
    check_labels,
    check_object_name,
    check_toleration,
    command_problem,
    image_problem,
)
from couler.ir.verify.quantities import check_resources
from couler.steps.commands import CommandError, command_words, unexpanded

Tree: t.TypeAlias = dict[str, t.Any]
Amount: t.TypeAlias = int | float | str
ResourceForm: t.TypeAlias = str | Mapping[str, object] | Resources
"""`"cpu=0.5,memory=1024,gpu=1"` (memory in MiB unless it says otherwise), or a dict of amounts."""


class ZooOptions(TypedDict, total=False):
    """Options of every step of the zoo that trains.

    Attributes
    ----------
    env
        Environment of the program: text, values of the workflow, `SecretKey` and `ConfigKey`.
    cpu, memory, gpu
        As for `run_container`.
    node_selector, tolerations
        The nodes that it can run on.
    step_name, retry, cache
        As for `run_container`.
    """

    env: Mapping[str, object] | None
    cpu: Amount | None
    memory: Amount | None
    gpu: int | objects.Gpu | None
    node_selector: Mapping[str, str] | None
    tolerations: Sequence[objects.Toleration] | None
    step_name: str | None
    retry: int | objects.Retry | None
    cache: bool | objects.Cache | None


@dataclass(frozen=True)
class JobDraft:
    """The step of a job while it is made; its pods have `args` and `env` in common."""

    builder: Builder
    name: str
    given: Mapping[str, t.Any]
    """The arguments of the function that makes it."""
    args: Sequence[object] = ()
    env: Mapping[str, object] = FrozenDict()

    def report(self, problem: str, code: str = "CLR105") -> None:
        """Report a problem of the step."""
        self.builder.report(code, f'step "{self.name}": {problem}', step=self.name)

    def add(self, code: str, problem: str) -> None:
        """Report a problem that verification has found."""
        self.report(problem, code)

    @property
    def secrets(self) -> Sequence[str]:
        """Names of the secrets whose keys are variables of the environment."""
        names = self.given.get("secret") or ()
        return (names,) if isinstance(names, str) else names

    @property
    def volume_mounts(self) -> Sequence[objects.VolumeMount]:
        """Where the pods see volumes."""
        return self.given.get("volume_mounts") or ()


def first_given(*values: object) -> object:
    """Return the first that is not None; a value of the workflow has no truth."""
    return next((value for value in values if value is not None), None)


def present(tree: Tree) -> Tree:
    """Return a tree without what is None or empty."""
    return {key: value for key, value in tree.items() if isinstance(value, Value) or value}


def hyperparameter_words(draft: JobDraft, *sources: Mapping[str, object]) -> list[object]:
    """Return hyperparameters as arguments `--name=value`; report what cannot be one."""
    words: dict[str, object] = {}
    for name, value in (entry for source in sources for entry in source.items()):
        problem = None
        if name in words:
            problem = "is given twice. Remove one"
        elif value is None:
            problem = 'is None, which no argument can be. Leave it out, or write "None"'
        elif not name or re.search(r"[\s=]", name):
            problem = "is no name of an argument"
        if problem is not None:
            draft.report(f'the hyperparameter "{name}" {problem}')
        if isinstance(value, Value):
            words[name] = text("--{}={}", name, value)
        else:
            told = attempt(draft.builder, name, functools.partial(text_of, value), draft.name)
            words[name] = f"--{name}={told}"
    return list(words.values())


def named_inputs(given: Mapping[str, object]) -> dict[str, object]:
    """Return hyperparameters that were given as keywords `input_<name>`, by their names."""
    prefix = "input_"
    return {
        name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)
    }


def environment(draft: JobDraft) -> Tree:
    """Return `env` and `envFrom` of a container."""
    entries = [_variable(name, value) for name, value in draft.env.items()]
    sources = []
    for name in draft.secrets:
        known = draft.builder.secrets.get(name)
        if known is not None and known.keys:
            entries += [_variable(key, _key_of(known.name, key)) for key in known.keys]
        else:
            sources.append({"secretRef": {"name": name}})
    return present({"env": entries, "envFrom": sources})


def local_environment(draft: JobDraft) -> dict[str, object]:
    """Return the same environment for a process of this machine, keys of secrets included."""
    found = {name: value for name, value in draft.env.items() if is_sound(name, value)}
    for name in draft.secrets:
        known = draft.builder.secrets.get(name)
        for key in known.keys if known is not None else ():
            found[key] = _key_of(name, key)
    return found


def _key_of(secret: str, key: str) -> storage.SecretKey:
    return storage.SecretKey(secret=secret, key=key)


def _variable(name: str, value: object) -> Tree:
    if isinstance(value, storage.SecretKey):
        return variable_source(storage.EnvVar(name=name, secret=value))
    if isinstance(value, storage.ConfigKey):
        return variable_source(storage.EnvVar(name=name, config=value))
    return {"name": name, "value": unexpanded(as_text(value))}


def read_resources(draft: JobDraft, own: object = None) -> Resources | None:
    """Return the resources of a container: its own, or those of all containers."""
    given: object = own if own is not None else draft.given.get("resources")
    if isinstance(given, str):
        words = given
        given = attempt(draft.builder, "resources", lambda: _parsed(words), draft.name)
    fields: dict[str, object] = {"resources": given}
    if own is None:
        fields.update({name: draft.given.get(name) for name in ("cpu", "memory", "gpu")})
    found: Resources | None = step_fields(draft.builder, fields, draft.name).get("resources")
    if found is not None:
        check_resources(found, draft.add)
    return found


def _parsed(given: str) -> dict[str, str]:
    """Read the ancestor's text of resources."""
    amounts: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in given.split(","))):
        name, is_amount, amount = (one.strip() for one in part.partition("="))
        if not (name and is_amount and amount):
            raise ValueError(f'"{part}" is no amount; write such as "cpu=0.5,memory=1024,gpu=1"')
        if name in amounts:
            raise ValueError(f'"{name}" is given twice in "{given}"')
        amounts[name] = f"{amount}Mi" if name == "memory" and units.is_number(amount) else amount
    return amounts


def resource_tree(wanted: Resources | None) -> Tree:
    """Return `resources` of a container: what is asked for is also the limit, unless stated."""
    if wanted is None:
        return {}
    tree = resources(wanted)
    if wanted.gpu is not None:
        tree["limits"][wanted.gpu.resource] = wanted.gpu.count
    return tree


def pod_template(
    draft: JobDraft, container: str, role: str = "", *, takes_args: bool = True
) -> Tree:
    """Return a pod's template with one container, with what its role has in place of the job's."""
    own = {name: draft.given.get(f"{role}_{name}") for name in ("image", "command", "resources")}
    main: Tree = {"name": container, "image": _image_of(draft, own["image"])}
    args = list(draft.args) if takes_args else []
    command = first_given(own["command"], draft.given.get("command"))
    check_pod(draft, main["image"], command)
    words = pod_command(draft, command, args)
    if words:
        main["command"] = words
    if args:
        main["args"] = pod_args(args)
    main.update(environment(draft))
    wanted = read_resources(draft, own["resources"])
    tree = resource_tree(wanted)
    if tree:
        main["resources"] = tree
    if draft.volume_mounts:
        main["volumeMounts"] = mounts(draft)
    spec: Tree = {"containers": [main], **placement(draft, wanted)}
    volumes = pod_volumes(draft)
    if volumes:
        spec["volumes"] = volumes
    told = {
        name: dict(value)
        for name in ("labels", "annotations")
        if (value := draft.given.get(f"pod_{name}"))
    }
    return {"metadata": told, "spec": spec} if told else {"spec": spec}


def pod_command(draft: JobDraft, command: object, args: Sequence[object]) -> list[object]:
    """Return the command of a container that is given arguments; report one that takes none."""
    try:
        words = command_words(command, args)
    except CommandError as error:
        given = f" There are: {' '.join(map(_shown, args))}." if args else ""
        draft.report(f"{error}.{given}")
        return []
    return [unexpanded(word) for word in words]


def pod_args(args: Sequence[object]) -> list[object]:
    """Return arguments as a container has them."""
    return [unexpanded(as_text(word)) for word in args]


def _shown(word: object) -> str:
    return f"<{word._hint()}>" if isinstance(word, Value) else str(text_of(word))


def _image_of(draft: JobDraft, own: object) -> object:
    """Return the image of a container; report that there is none."""
    image = first_given(own, draft.given.get("image"), draft.builder.default_image)
    if image is None:
        problem = 'the argument "image" is missing, and the workflow has no default image'
        draft.report(problem, "CLR101")
        return "unknown"
    return image


def placement(draft: JobDraft, resources: Resources | None) -> Tree:
    """Return the fields of a pod that choose nodes."""
    selector = dict(draft.given.get("node_selector") or {})
    if resources is not None and resources.gpu is not None and resources.gpu.type is not None:
        selector.setdefault("nvidia.com/gpu.product", resources.gpu.type)
    tolerations = [toleration(toleration_of(one)) for one in draft.given.get("tolerations") or ()]
    return present({"nodeSelector": selector, "tolerations": tolerations})


def mounts(draft: JobDraft) -> list[Tree]:
    """Return where the container of a pod sees volumes."""
    return [_mount(one) for one in draft.volume_mounts]


def _mount(given: objects.VolumeMount) -> Tree:
    tree: Tree = {"name": given.name, "mountPath": given.mount_path}
    if given.sub_path is not None:
        tree["subPath"] = given.sub_path
    if given.read_only:
        tree["readOnly"] = True
    return tree


def pod_volumes(draft: JobDraft) -> list[Tree]:
    """Return the volumes that the mounts of a pod name; report those that a job cannot have."""
    found: list[Tree] = []
    for name in dict.fromkeys(mount.name for mount in draft.volume_mounts):
        if not isinstance(t.cast(object, name), str):
            continue  # told with the other checks of the pod
        known = draft.builder.volumes.get(name, storage.EmptyVolume(name=name))
        tree = volume(known)
        if tree is None:
            draft.report(
                f'the volume "{name}" is made for the pods of the workflow, '
                "which the pods of a job are not. Name a claim that exists"
            )
        else:
            found.append(tree)
    return found


def check_pod(draft: JobDraft, image: object, command: object) -> None:
    """Report what Kubernetes would refuse in a pod; what several pods share is told once."""
    given, add = draft.given, draft.add
    if isinstance(image, str):
        problem = image_problem(image)
        if problem is not None:
            add("CLR408", problem)
    if isinstance(command, Sequence) and not isinstance(command, str):
        problem = command_problem(command)
        if problem is not None:
            add("CLR409", problem)
    for variable, value in draft.env.items():
        _check_variable(variable, value, add)
    check_objects(draft, "secret", *draft.secrets)
    _check_mounts(draft)
    check_labels(given.get("node_selector") or {}, "node_selector", add)
    for given_toleration in given.get("tolerations") or ():
        check_toleration(toleration_of(given_toleration), add)
    check_labels(given.get("pod_labels") or {}, "labels", add)
    check_annotations(given.get("pod_annotations") or {}, add)


def check_objects(draft: JobDraft, what: str, *names: object) -> None:
    """Report names that no object of a cluster can have."""
    for name in names:
        if isinstance(name, str):  # a value of the workflow is known only when it runs
            check_object_name(name, what, draft.add)


def is_sound(variable: str, value: object) -> bool:
    """Return whether nothing is wrong with a variable of the environment."""
    found: list[str] = []
    _check_variable(variable, value, lambda code, _: found.append(code))
    return not found


def _check_variable(name: str, value: object, add: Add) -> None:
    check_variable_names([storage.EnvVar(name=name)], add)
    if isinstance(value, storage.SecretKey):
        check_secret_key(value, add)
    elif isinstance(value, storage.ConfigKey):
        check_config_key(value, add)


def _check_mounts(draft: JobDraft) -> None:
    taken: dict[str, str] = {}
    for given in draft.volume_mounts:
        make = functools.partial(_ir_mount, given)
        mount = attempt(draft.builder, "volume_mounts", make, draft.name)
        if mount is None:
            continue
        check_mount(mount, taken, draft.add)
        if mount.volume not in draft.builder.volumes:  # the workflow's own are checked with it
            check_volume(storage.EmptyVolume(name=mount.volume), draft.add)


def _ir_mount(given: objects.VolumeMount) -> storage.Mount:
    return storage.Mount(volume=given.name, path=given.mount_path, sub_path=given.sub_path)
