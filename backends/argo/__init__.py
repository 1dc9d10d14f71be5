"""Argo Workflows: manifests for Argo 4, as YAML or JSON."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Mapping, Sequence

from couler.backends.argo.capabilities import CAPABILITIES
from couler.backends.base import (
    Artifact,
    ArtifactFile,
    Capabilities,
    Target,
    choose_format,
    choose_profile,
)
from couler.errors import EngineOptionError
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.workflow import Workflow

if t.TYPE_CHECKING:
    from couler.backends.argo.cluster_api import ClusterApi
    from couler.backends.argo.manifest import Manifest, ManifestOptions
    from couler.backends.argo.memo_entries import MemoEntries
    from couler.backends.argo.remote import ArgoRemote
    from couler.backends.remote import Connection
    from couler.cluster.objects import ClusterObjects
    from couler.ir.sizes import Footprint, Limits

__all__ = ["ArgoBackend"]


class ArgoBackend:
    """Compiles workflows to Argo Workflows 4.

    Profiles: `argo` is a default installation with its full resource definitions (at most 200
    templates, 200 tasks a template, 500 parameters, and a budget of bytes); `argo-minimal-crd`
    is an installation with minimal definitions, which has no such counts.
    """

    name: str = "argo"
    profiles: tuple[str, ...] = ("argo", "argo-minimal-crd")
    formats: tuple[str, ...] = ("yaml", "json")
    path_fields: tuple[str, ...] = ("kubeconfig", "ca")

    def __init__(self) -> None:
        self._last: tuple[Workflow, ManifestOptions, Manifest] | None = None

    def capabilities(self, target: Target) -> Capabilities:
        """Return what Argo can do."""
        choose_profile(self, target)
        return CAPABILITIES

    def check(self, workflow: Workflow, target: Target) -> Iterator[Diagnostic]:
        """Yield what Argo would refuse beyond features."""
        from couler.backends.argo.check import check, check_size, check_tags
        from couler.backends.argo.footprint import check_runs

        profile = choose_profile(self, target)
        yield from check(workflow)
        yield from check_runs(workflow)
        manifest = self._manifest(workflow, _options(target))
        yield from check_tags(manifest, workflow)
        if workflow.stored is None:
            yield from check_size(manifest, profile)

    def limits(self, target: Target) -> Limits:
        """Return what one Workflow object takes at most.

        Raises
        ------
        EngineOptionError
            The profile, the version or an option is unknown: before a pass asks for footprints.
        """
        from couler.backends.argo.footprint import LIMITS

        _options(target)
        return LIMITS[choose_profile(self, target)]

    def footprint(self, workflow: Workflow, target: Target) -> Footprint:
        """Return what a workflow takes of one Workflow object."""
        from couler.backends.argo.footprint import footprint

        manifest = self._manifest(workflow, _options(target))
        return footprint(workflow, manifest, self.limits(target))

    def compile(self, workflow: Workflow, target: Target, *, format: str = "yaml") -> Artifact:
        """Turn a verified workflow into one manifest.

        Parameters
        ----------
        workflow
            Verified, its defaults resolved.
        target
            Profile, namespace and options: `kind`, `helper_image`, `gpu_type_label`,
            `memo_maps`, `repository`.
        format
            `yaml`, or `json` for Argo's and Kubernetes's API.

        Raises
        ------
        EngineOptionError
            The format, the profile or an option is unknown.
        """
        choose_profile(self, target)
        choose_format(self, format)
        text = _write(self._manifest(workflow, _options(target)), format)
        return Artifact(
            engine=self.name,
            files=(ArtifactFile(f"{workflow.name}.{format}", text),),
            notes=tuple(_notes(workflow)),
        )

    def connect(self, connection: Connection, environment: Mapping[str, str]) -> ArgoRemote:
        """Return Argo; it is first asked when a method of it is called.

        Parameters
        ----------
        connection
            The namespace of its target, and fields: `kubeconfig` and `context` of the cluster, else
            what `KUBECONFIG` names, else the account of the pod that this runs in, else
            `~/.kube/config`; or, for an Argo Server, its address `server`, a reference to its
            `token`, a file `ca` of certificates to trust, or `insecure`; `timeout_s` of one call.
        environment
            The variables of the environment.

        Raises
        ------
        ConfigurationError
            The extra `argo` is missing, a field is unknown or wrong, or no configuration of a
            cluster can be used.
        """
        from couler.backends.argo.connect import connect

        return connect(connection, environment)

    def cluster(self, connection: Connection, environment: Mapping[str, str]) -> ClusterApi:
        """Return the Kubernetes API of a cluster: objects as they are, for `ArgoSubmitter`.

        The parameters and errors are those of `connect`.
        """
        from couler.backends.argo.connect import cluster_api

        return cluster_api(connection, environment)

    def entries(self, connection: Connection, environment: Mapping[str, str]) -> MemoEntries:
        """Return the entries of cached steps in the config maps of a cluster.

        The parameters and errors are those of `connect`; an Argo Server knows no config maps.
        """
        from couler.backends.argo.connect import memo_entries

        return memo_entries(connection, environment)

    def nodes(
        self, connection: Connection, environment: Mapping[str, str]
    ) -> Sequence[Mapping[str, t.Any]]:
        """Return the nodes of the cluster, as the Kubernetes API has them.

        The parameters and errors are those of `connect`; an Argo Server knows no nodes.
        """
        from couler.backends.argo.connect import cluster_nodes

        return cluster_nodes(connection, environment)

    def objects(self, connection: Connection, environment: Mapping[str, str]) -> ClusterObjects:
        """Return the objects of the namespace of a target.

        The parameters and errors are those of `connect`; an Argo Server gives no objects.
        """
        from couler.backends.argo.connect import cluster_objects

        return cluster_objects(connection, environment)

    def _manifest(self, workflow: Workflow, options: ManifestOptions) -> Manifest:
        """The manifest; kept, as checking and compiling ask for the same one."""
        from couler.backends.argo.manifest import manifest

        last = self._last
        if last is not None and last[0] is workflow and last[1] == options:
            return last[2]
        made = manifest(workflow, options)
        self._last = workflow, options, made
        return made


def _write(manifest: Manifest, format: str) -> str:
    if format == "json":
        return manifest.json if not manifest.definitions else _as_list(manifest)
    from couler.ir.yaml_writer import dump_all

    return dump_all([*manifest.definitions, manifest.tree])


def _as_list(manifest: Manifest) -> str:
    """Return the objects as one of Kubernetes's lists, in the order in which they are needed."""
    items = ",".join(manifest.texts)
    return f'{{"apiVersion":"v1","kind":"List","items":[{items}]}}'


def _options(target: Target) -> ManifestOptions:
    _check_version(target.engine_version)
    from couler.backends.argo.manifest import KINDS, ManifestOptions

    known = set(ManifestOptions._fields) - {"namespace"}
    for name in target.options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise EngineOptionError(
                f"argo has no option {name!r}; it has: {', '.join(sorted(known))}.{hint}"
            )
    given = dict(target.options)
    if "memo_maps" in given:
        given["memo_maps"] = _memo_maps(given["memo_maps"])
    options = ManifestOptions(namespace=target.namespace, **given)
    if options.kind is not None and options.kind not in KINDS:
        raise EngineOptionError(f"argo has no kind {options.kind!r}; it has: {', '.join(KINDS)}")
    return options


def _memo_maps(value: object) -> int:
    """Return how many config maps hold the entries of cached steps."""
    from couler.backends.argo.memoization import MAPS

    for count in MAPS:
        if str(value) == str(count):
            return count
    raise EngineOptionError(
        f"argo: memo_maps is {' or '.join(map(str, MAPS))}, not {value!r}: the first digits of a "
        "key tell its config map"
    )


def _check_version(version: str | None) -> None:
    """Refuse versions whose manifests differ from those that are written here."""
    if version is None or re.fullmatch(r"v?4(\.\d+){0,2}", version):
        return
    raise EngineOptionError(f"argo: manifests are written for Argo 4, not for {version!r}")


def _notes(workflow: Workflow) -> Iterator[str]:
    """What must exist where the workflow runs."""
    from couler.backends.argo.parts import has_runs
    from couler.ir.uses import needs

    for need in needs(workflow):
        yield str(need)
    if has_runs(workflow):
        yield (
            "parts have runs of their own: the account of the pods must be allowed to get, create "
            "and patch workflows (argoproj.io)"
        )
        if workflow.max_parallel is not None:
            yield "parts have runs of their own: max_parallel holds for each of them by itself"
