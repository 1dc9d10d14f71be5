"""Pods in the manifests of training jobs: containers, environment, resources, volumes."""

from __future__ import annotations

import functools
import re
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
from couler.ir.kubernetes_volumes import volume
from couler.ir.policies import Resources
from couler.ir.verify.quantities import check_resources
from couler.steps.commands import CommandError, command_words, unexpanded
from couler.steps.pod_checks import check_pod, is_sound

Tree: t.TypeAlias = dict[str, t.Any]
Amount: t.TypeAlias = int | float | str
ResourceForm: t.TypeAlias = str | Mapping[str, object] | Resources
"""`"cpu=0.5,memory=1024,gpu=1"` (memory in MiB unless it says otherwise), or a dict of amounts."""


@dataclass(frozen=True, kw_only=True)
class PodOptions:
    """What all pods of a job have in common; the replicas' own settings come before."""

    step: str
    """Name of the step, for messages."""
    image: object = None
    command: object = None
    args: Sequence[object] = ()
    env: Mapping[str, object] | None = None
    secret: str | Sequence[str] | None = None
    resources: ResourceForm | None = None
    cpu: Amount | None = None
    memory: Amount | None = None
    gpu: int | objects.Gpu | None = None
    volume_mounts: Sequence[objects.VolumeMount] = ()
    node_selector: Mapping[str, str] | None = None
    tolerations: Sequence[objects.Toleration] = ()
    pod_labels: Mapping[str, str] | None = None
    pod_annotations: Mapping[str, str] | None = None


def first_given(*values: object) -> object:
    """Return the first that is not None; a value of the workflow has no truth."""
    return next((value for value in values if value is not None), None)


def present(tree: Tree) -> Tree:
    """Return a tree without what is None or empty."""
    return {key: value for key, value in tree.items() if isinstance(value, Value) or value}


def hyperparameter_words(
    builder: Builder, step: str, *sources: Mapping[str, object]
) -> list[object]:
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
            builder.report(
                "CLR105", f'step "{step}": the hyperparameter "{name}" {problem}', step=step
            )
        if isinstance(value, Value):
            words[name] = text("--{}={}", name, value)
        else:
            told = attempt(builder, name, functools.partial(text_of, value), step)
            words[name] = f"--{name}={told}"
    return list(words.values())


def named_inputs(inputs: Mapping[str, object]) -> dict[str, object]:
    """Return hyperparameters that were given as keywords `input_<name>`, by their names."""
    return {name.removeprefix("input_"): value for name, value in inputs.items()}


def environment(builder: Builder, options: PodOptions) -> Tree:
    """Return `env` and `envFrom` of a container."""
    entries = [_variable(name, value) for name, value in (options.env or {}).items()]
    sources = []
    names = options.secret or ()
    for name in (names,) if isinstance(names, str) else names:
        known = builder.secrets.get(name)
        if known is not None and known.keys:
            entries += [_variable(key, _key_of(known.name, key)) for key in known.keys]
        else:
            sources.append({"secretRef": {"name": name}})
    return present({"env": entries, "envFrom": sources})


def local_environment(builder: Builder, options: PodOptions) -> dict[str, object]:
    """Return the same environment for a process of this machine, keys of secrets included."""
    given = options.env or {}
    found = {name: value for name, value in given.items() if is_sound(name, value)}
    names = options.secret or ()
    for name in (names,) if isinstance(names, str) else names:
        known = builder.secrets.get(name)
        for key in known.keys if known is not None else ():
            found[key] = _key_of(name, key)
    return found


def _key_of(secret: str, key: str) -> storage.SecretKey:
    return storage.SecretKey(secret=secret, key=key)


def _variable(name: str, value: object) -> Tree:
    if isinstance(value, storage.SecretKey):
        source = {"secretKeyRef": {"name": value.secret, "key": value.key}}
    elif isinstance(value, storage.ConfigKey):
        source = {"configMapKeyRef": {"name": value.config_map, "key": value.key}}
    else:
        return {"name": name, "value": unexpanded(as_text(value))}
    return {"name": name, "valueFrom": source}


def read_resources(builder: Builder, options: PodOptions, own: object = None) -> Resources | None:
    """Return the resources of a container: its own, or those of all containers."""
    given: object = own if own is not None else options.resources
    if isinstance(given, str):
        words = given
        given = attempt(builder, "resources", lambda: _parsed(words), options.step)
    fields: dict[str, object] = {"resources": given}
    if own is None:
        fields.update(cpu=options.cpu, memory=options.memory, gpu=options.gpu)
    found: Resources | None = step_fields(builder, fields, options.step).get("resources")
    if found is not None:
        check_resources(found, lambda code, problem: _report(builder, options, code, problem))
    return found


def _report(builder: Builder, options: PodOptions, code: str, problem: str) -> None:
    builder.report(code, f'step "{options.step}": {problem}', step=options.step)


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
    requests: Tree = {}
    limits: Tree = {}
    amounts = {
        "cpu": (wanted.cpu, wanted.cpu_limit),
        "memory": (wanted.memory, wanted.memory_limit),
        "ephemeral-storage": (wanted.disk, None),
        **{name: (amount, None) for name, amount in wanted.other.items()},
    }
    for name, (amount, limit) in amounts.items():
        if amount is not None:
            requests[name] = amount
        if limit is not None or amount is not None:
            limits[name] = limit or amount
    if wanted.gpu is not None:
        limits[wanted.gpu.resource] = wanted.gpu.count
    return present({"requests": requests, "limits": limits})


def pod_template(
    builder: Builder,
    options: PodOptions,
    container: str,
    *,
    image: object = None,
    command: object = None,
    resources: ResourceForm | None = None,
    takes_args: bool = True,
) -> Tree:
    """Return a pod's template with one container."""
    main: Tree = {"name": container, "image": image_of(builder, options, image)}
    args = list(options.args) if takes_args else []
    wanted_command = first_given(command, options.command)
    check_pod(builder, options, main["image"], wanted_command)
    words = pod_command(builder, options, wanted_command, args)
    if words:
        main["command"] = words
    if args:
        main["args"] = pod_args(args)
    main.update(environment(builder, options))
    wanted = read_resources(builder, options, resources)
    tree = resource_tree(wanted)
    if tree:
        main["resources"] = tree
    if options.volume_mounts:
        main["volumeMounts"] = mounts(options)
    spec: Tree = {"containers": [main], **placement(options, wanted)}
    volumes = pod_volumes(builder, options)
    if volumes:
        spec["volumes"] = volumes
    metadata = {"labels": options.pod_labels, "annotations": options.pod_annotations}
    told = {name: dict(value) for name, value in metadata.items() if value}
    return {"metadata": told, "spec": spec} if told else {"spec": spec}


def pod_command(
    builder: Builder, options: PodOptions, command: object, args: Sequence[object]
) -> list[object]:
    """Return the command of a container that is given arguments; report one that takes none."""
    try:
        words = command_words(command, args)
    except CommandError as error:
        given = f" There are: {' '.join(map(_shown, args))}." if args else ""
        _report(builder, options, "CLR105", f"{error}.{given}")
        return []
    return [unexpanded(word) for word in words]


def pod_args(args: Sequence[object]) -> list[object]:
    """Return arguments as a container has them."""
    return [unexpanded(as_text(word)) for word in args]


def _shown(word: object) -> str:
    return f"<{word._hint()}>" if isinstance(word, Value) else str(text_of(word))


def image_of(builder: Builder, options: PodOptions, own: object = None) -> object:
    """Return the image of a container; report that there is none."""
    image = first_given(own, options.image, builder.default_image)
    if image is None:
        builder.report(
            "CLR101",
            f'step "{options.step}": the argument "image" is missing, and the workflow has no '
            "default image",
            step=options.step,
        )
        return "unknown"
    return image


def placement(options: PodOptions, resources: Resources | None) -> Tree:
    """Return the fields of a pod that choose nodes."""
    selector = dict(options.node_selector or {})
    if resources is not None and resources.gpu is not None and resources.gpu.type is not None:
        selector.setdefault("nvidia.com/gpu.product", resources.gpu.type)
    tolerations = [_toleration(one) for one in options.tolerations]
    return present({"nodeSelector": selector, "tolerations": tolerations})


def _toleration(given: objects.Toleration) -> Tree:
    read = toleration_of(given)
    fields = {
        "key": read.key,
        "operator": read.operator,
        "value": read.value,
        "effect": read.effect,
        "tolerationSeconds": read.seconds,
    }
    return {name: value for name, value in fields.items() if value is not None}


def mounts(options: PodOptions) -> list[Tree]:
    """Return where the container of a pod sees volumes."""
    return [_mount(one) for one in options.volume_mounts]


def _mount(given: objects.VolumeMount) -> Tree:
    tree: Tree = {"name": given.name, "mountPath": given.mount_path}
    if given.sub_path is not None:
        tree["subPath"] = given.sub_path
    if given.read_only:
        tree["readOnly"] = True
    return tree


def pod_volumes(builder: Builder, options: PodOptions) -> list[Tree]:
    """Return the volumes that the mounts of a pod name; report those that a job cannot have."""
    found: list[Tree] = []
    for name in dict.fromkeys(mount.name for mount in options.volume_mounts):
        if not isinstance(t.cast(object, name), str):
            continue  # told with the other checks of the pod
        known = builder.volumes.get(name, storage.EmptyVolume(name=name))
        tree = volume(known)
        if tree is None:
            builder.report(
                "CLR105",
                f'step "{options.step}": the volume "{name}" is made for the pods of the workflow, '
                "which the pods of a job are not. Name a claim that exists",
                step=options.step,
            )
        else:
            found.append(tree)
    return found
