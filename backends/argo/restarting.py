"""From paths of steps that are to run again to what Argo is told."""

from __future__ import annotations

from dataclasses import replace

from couler.backends.argo.argo_retry import PROCESSES, deleted_by_retry
from couler.backends.argo.observe import Observer
from couler.backends.argo.reset import PutBack, Reset, reset
from couler.backends.argo.status_nodes import Json, read_nodes
from couler.backends.argo.submission import with_mark
from couler.backends.remote import Restart
from couler.ir.digest import run_digest
from couler.ir.workflow import Workflow


def putting_back(observer: Observer, wanted: Json, restart: Restart) -> PutBack:
    """Return what begins the wanted parts of an ended run again."""
    digest = run_digest(restart.workflow, restart.parameters)

    def put_back(found: Json) -> Reset:
        decided = decide(found)
        return replace(decided, workflow=with_mark(decided.workflow, digest))

    def decide(found: Json) -> Reset:
        if restart.workflow.stored is not None:
            return _stored_again(found, wanted["spec"])
        look = observer.look(found)
        paths = {node.id: path for path, node in look.nodes.items()}
        again = {look.places[path].id for path in restart.again if path in look.places}
        return reset(found, wanted["spec"], paths, again)

    return put_back


def _stored_again(found: Json, spec: Json) -> Reset:
    """Return a run of a stored template, whose steps nobody knows here, as Argo retries it."""
    deleted = deleted_by_retry(found)
    paths = {
        key: str(tree["name"])
        for key, tree in read_nodes(found).items()
        if tree["type"] in PROCESSES
    }
    return reset(found, spec, paths, deleted & paths.keys())


def is_same(one: Workflow, other: Workflow) -> bool:
    """Return whether two workflows are the same but for where they stand in the source."""
    return one == other or _without_source(one.model_dump()) == _without_source(other.model_dump())


def _without_source(tree: Json) -> Json:
    if isinstance(tree, dict):
        return {
            key: _without_source(each)
            for key, each in tree.items()
            if key != "source" or isinstance(each, str)  # that of a script is its program
        }
    if isinstance(tree, list | tuple):
        return [_without_source(each) for each in tree]
    return tree
