"""What both ways to reach Argo can do: the Kubernetes API, and the Argo Server.

What is the same for both, such as names of steps and states of nodes, lies above it, in
`ArgoRemote`; what only one of them knows, such as how a node is resumed, lies below.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence

if t.TYPE_CHECKING:
    from couler.backends.argo.reset import PutBack

Json: t.TypeAlias = t.Any
"""A JSON value; of objects, a dict as Kubernetes has it."""

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


class Change(t.NamedTuple):
    """What a watch tells."""

    version: str
    """The version of the cluster: what comes after it has not been told yet."""
    workflow: Json | None
    """The Workflow as it is now; None where it is as it was (a bookmark)."""


class WorkflowApi(t.Protocol):
    """Argo, seen through one of its interfaces, in one namespace.

    Every call has limits of time, and is repeated where that is safe. What is refused raises
    `couler.rest.client.RestError`, whose `code` is the status, or None where no whole answer came;
    a workflow that is not there raises `LostRunError`.
    """

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
        """Create a Workflow and return it as the cluster has it; 409 if one has its name.

        A dry run only asks whether the server would take it.
        """
        ...

    def get(self, name: str) -> Json:
        """Return a Workflow."""
        ...

    def snapshot(self, name: str) -> tuple[Json, str]:
        """Return a Workflow, and the version after which its changes can be asked for.

        That is the `metadata.resourceVersion` of a list, which is never too old, while the one of
        an object that nobody has touched for a while is.
        """
        ...

    def watch(self, name: str, since: str) -> Iterator[Change]:
        """Yield a Workflow whenever it has changed.

        `LostRunError` tells that it was deleted.

        Parameters
        ----------
        name
            Its name.
        since
            The version after which changes are asked for: that of `snapshot`, or of the last
            change.

        Notes
        -----
        It ends when the server ends the stream, which all do after a while, and raises when it
        breaks; code 410 says that `since` is too old. It is begun anew by who reads it.
        """
        ...

    def restart(
        self,
        name: str,
        put_back: PutBack,
        *,
        is_changed: bool,
        first: Callable[[], object] = lambda: None,
    ) -> Json:
        """Begin parts of an ended Workflow again.

        Parameters
        ----------
        name
            Its name.
        put_back
            From the Workflow as it is to what begins parts of it again.
        is_changed
            Whether its definition has become another one.
        first
            Called once, before anything is changed and when all is known that can be refused here.
        """
        ...

    def children(self, uid: str) -> Sequence[Json]:
        """Return the Workflows that one has made of its parts.

        Parameters
        ----------
        uid
            The `metadata.uid` of the parent.
        """
        ...

    def delete(self, name: str) -> None:
        """Delete a Workflow and what belongs to it; nothing happens if there is none."""
        ...

    def stop(self, name: str) -> None:
        """End a Workflow; its exit handlers run."""
        ...

    def resume(self, name: str, node_id: str | None, entered: Mapping[str, str]) -> None:
        """Let a node of type Suspend go on, or a whole Workflow that is suspended.

        Parameters
        ----------
        name
            Name of the Workflow.
        node_id
            The node; None for the Workflow.
        entered
            Values of the node's output parameters.
        """
        ...

    def logs(self, name: str, pod: str, container: str, *, follow: bool) -> Iterator[str]:
        """Yield the lines of a container of a pod; 404 if the pod is gone.

        Parameters
        ----------
        name
            Name of the Workflow.
        pod
            Name of the pod.
        container
            Name of the container.
        follow
            Go on until the container ends.
        """
        ...

    def apply(self, manifest: Json, *, dry_run: bool = False) -> Json:
        """Create an object that is no Workflow, or change the one with its kind and name."""
        ...

    def own(self, manifest: Json, owner: Json) -> None:
        """Let an object go when all have gone that own it, of which a Workflow is from now on one.

        Parameters
        ----------
        manifest
            The object; it is made where it has just gone with its last owner.
        owner
            The Workflow, as an entry of `metadata.ownerReferences`.
        """
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
        """Delete a CronWorkflow; nothing happens if there is none.

        Parameters
        ----------
        name
            Its name.
        policy
            What happens to its Workflows: `Background`, `Foreground` or `Orphan`.
        """
        ...

    def set_suspended(self, cron_workflow: str, suspended: bool) -> None:
        """Let a CronWorkflow begin no more runs, or begin them again."""
        ...
