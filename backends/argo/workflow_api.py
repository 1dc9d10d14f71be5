"""What both ways to reach Argo can do: the Kubernetes API, and the Argo Server."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from couler.backends.remote import Json
from couler.errors import LostRunError

if t.TYPE_CHECKING:
    from couler.backends.argo.reset import PutBack
    from couler.rest.answers import Shape
    from couler.rest.client import RestClient

RUN_LABEL = "couler/run"
"""Label of every workflow that is submitted here; its value is the name of the run."""

WORKFLOW_LABEL = "couler/workflow"
"""Label with the name of the workflow in the program, as far as labels can have it."""

SUBMISSION_MARK = "couler/submission"
"""Annotation with digests of the workflow and the parameters that a run was submitted with, and of
those that it was taken up with since, by which a submission is told from others of its name."""

CANCELLED_LABEL = "couler/cancelled"
"""Label of a workflow that was ended from here by its time, see `ClusterApi.stop`."""

COMPLETED_LABEL = "workflows.argoproj.io/completed"
"""Label that Argo gives to Workflows; of one that its controller is done with it is `true`."""

PARENT_LABEL = "couler/parent"
"""Label of a Workflow that is a part of another: the `uid` of that one."""

PART_LABEL = "couler/part"
"""Label of such a Workflow, and of its WorkflowTemplate: the name of the part's run."""

TEMPLATE_MARK = "couler/template"
"""Annotation of such a Workflow: the template that stands for it in the other one."""

MAIN_CONTAINER = "main"
"""Name of the container of a pod that does the work of a step, unless the step names its own."""

WATCH_S = 60
"""How long a stream of changes lasts: a connection that has died unseen is noticed after it."""

IDLE_S = WATCH_S + 15.0
LOG_IDLE_S = 600.0
"""How long a process may write nothing before its log is asked for anew."""


class Change(t.NamedTuple):
    """What a watch tells."""

    version: str
    """The version of the cluster: what comes after it has not been told yet."""
    workflow: Json | None
    """The Workflow as it is now; None where it is as it was (a bookmark)."""


class WorkflowApi(t.Protocol):
    """Argo, seen through one of its interfaces, in one namespace."""

    @property
    def namespace(self) -> str:
        """The namespace of all that it sees."""
        ...

    @property
    def address(self) -> str:
        """Where it is, without credentials, for messages."""
        ...

    @property
    def puts_back(self) -> bool:
        """Whether a Workflow that has ended can be put back in any way, not in Argo's own alone."""
        ...

    def create(self, workflow: Json, *, dry_run: bool = False) -> Json:
        """Create a Workflow and return it as the cluster has it; 409 if one has its name."""
        ...

    def get(self, name: str) -> Json:
        """Return a Workflow."""
        ...

    def snapshot(self, name: str) -> tuple[Json, str]:
        """Return a Workflow, and the version after which its changes can be asked for."""
        ...

    def watch(self, name: str, since: str) -> Iterator[Change]:
        """Yield a Workflow whenever it has changed."""
        ...

    def restart(
        self,
        name: str,
        put_back: PutBack,
        *,
        is_changed: bool,
        first: Callable[[], object] = lambda: None,
    ) -> Json:
        """Begin parts of an ended Workflow again."""
        ...

    def children(self, uid: str) -> Sequence[Json]:
        """Return the Workflows that one has made of its parts."""
        ...

    def delete(self, name: str) -> None:
        """Delete a Workflow and what belongs to it; nothing happens if there is none."""
        ...

    def stop(self, name: str) -> None:
        """End a Workflow; its exit handlers run."""
        ...

    def resume(self, name: str, node_id: str | None, entered: Mapping[str, str]) -> None:
        """Let a node of type Suspend go on, or a whole Workflow that is suspended."""
        ...

    def logs(self, name: str, pod: str, container: str, *, follow: bool) -> Iterator[str]:
        """Yield the lines of a container of a pod; 404 if the pod is gone."""
        ...

    def apply(self, manifest: Json, *, dry_run: bool = False) -> Json:
        """Create an object that is no Workflow, or change the one with its kind and name."""
        ...

    def own(self, manifest: Json, owner: Json) -> None:
        """Delete an object with its last owner, of which a Workflow is one from now on."""
        ...

    def put_secret(self, name: str, entries: Mapping[str, str]) -> None:
        """Make a secret, or renew one that was made from here; those of others are refused."""
        ...

    def cron_workflow(self, name: str) -> Json | None:
        """Return a CronWorkflow; None if there is none."""
        ...

    def cron_workflows(self, label: str) -> Sequence[Json]:
        """Return the CronWorkflows that have a label, or with `=` a value of it."""
        ...

    def remove_cron_workflow(self, name: str, *, policy: str) -> None:
        """Delete a CronWorkflow; nothing happens if there is none."""
        ...

    def set_suspended(self, cron_workflow: str, suspended: bool) -> None:
        """Let a CronWorkflow begin no more runs, or begin them again."""
        ...


def lost(api: WorkflowApi, name: str, kind: str = "Workflow") -> LostRunError:
    """Return the error about an object that is not on the cluster."""
    return LostRunError(
        f"argo: there is no {kind} {name} in the namespace {api.namespace} of {api.address}: "
        "it was deleted there, or never was"
    )


def given_params(**given: str | None) -> dict[str, str | int | bool]:
    """Return the parameters of a call that have a value."""
    return {name: value for name, value in given.items() if value is not None}


def list_all(
    client: RestClient,
    path: str,
    selector: str | None = None,
    *,
    expect: Shape,
    prefix: str = "",
    fields: str | None = None,
    absent: Collection[int] = (),
) -> list[Json]:
    """Return all objects of a path, or those of them that have labels, page by page.

    The names of the parameters begin with the prefix. An answer of an absent status ends it.
    """
    found: list[Json] = []
    params = given_params(fields=fields, **{f"{prefix}labelSelector": selector})
    params[f"{prefix}limit"] = 100
    while True:
        is_first = f"{prefix}continue" not in params
        gone = absent if is_first else {*absent, 410}
        answer = client.call("GET", path, params=params, absent=gone, expect=expect)
        if answer is None and is_first:
            return found
        if answer is None:  # what the pages were of is forgotten: all in one
            found = []
            del params[f"{prefix}continue"], params[f"{prefix}limit"]
            continue
        found += answer.get("items") or ()
        more = answer["metadata"].get("continue")
        if not more:
            return found
        params[f"{prefix}continue"] = more
