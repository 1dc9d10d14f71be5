"""Statuses of workflows as Argo's real controller wrote them, one after the other.

`python -m tests.support.argo_recordings` records them anew, where the oracle can be used.
"""

from __future__ import annotations

import json
import sys
import tempfile
import typing as t
from pathlib import Path

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.following import changes
from couler.backends.argo.remote import ArgoRemote
from couler.backends.base import Target
from couler.backends.remote import RemoteRun, Restart, Submission
from couler.ir.defaults import resolve_defaults
from couler.ir.walk import StepPath
from couler.ir.workflow import ExitHandler, Output, Step, Suspend, Workflow
from couler.rest.client import RestClient
from tests.corpus.build import flow, item, out, ref, sh
from tests.support import argo_oracle

FILE = Path(__file__).parents[1] / "fakes" / "argo" / "recorded.json"

Json = t.Any

CHAIN = "chain-1"
ASK = "ask-1"
"""Names of the runs: names of nodes begin with them."""

AGAIN = frozenset({"bad", "after", "exit:tell/say"})
"""What of `CHAIN` runs again after its failure."""


def chain(folder: str = "/nowhere") -> Workflow:
    """A step fails until a file is there."""
    return flow(
        "chain",
        sh("first", "echo 1; echo 2"),
        sh("each", 'echo "item $1"', item(), foreach=["a", "b"]),
        sh("bad", f'test -e {folder}/mended && echo "bad $1"', ref("first")),
        sh("after", 'echo "after $1"', ref("bad")),
        outputs=[out("said", source=ref("after"))],
        exit_handlers=[ExitHandler(name="tell", on="any", steps=(sh("say", "true"),))],
    )


def ask() -> Workflow:
    """A step waits for a person."""
    return flow(
        "ask",
        Step(name="wait", action=Suspend(), outputs=(Output(name="answer"),)),
        sh("use", 'echo "$1"', ref("wait", "answer")),
    )


def submission(workflow: Workflow, run_id: str) -> Submission:
    artifact = ArgoBackend().compile(resolve_defaults(workflow), Target())
    return Submission(run_id, workflow, artifact)


def recorded(name: str) -> list[Json]:
    """The statuses of `chain`, `chain again`, `ask` or `ask entered`."""
    return t.cast("list[Json]", json.loads(FILE.read_text())[name])


def record() -> dict[str, list[Json]]:
    """Run the workflows under the real controller and return their statuses."""
    found: dict[str, list[Json]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        argo_oracle.session(Path(folder) / "argo", shared=[Path(folder)]) as session,
        RestClient("argo", session.address, extra="argo") as client,
    ):
        api = ClusterApi(client, "default")
        remote = ArgoRemote(api)
        workflow = chain(folder)
        one = submission(workflow, CHAIN)
        run = RemoteRun(CHAIN, workflow, remote.submit(one))
        found["chain"] = [each["status"] for each in changes(api, CHAIN) if each.get("status")]
        (Path(folder) / "mended").touch()
        remote.restart(run, Restart(workflow, one.artifact, {}, AGAIN))
        found["chain again"] = [each["status"] for each in changes(api, CHAIN)]
        workflow = ask()
        run = RemoteRun(ASK, workflow, remote.submit(submission(workflow, ASK)))
        found["ask"], found["ask entered"] = [], []
        has_entered = False
        for each in changes(api, ASK):
            status = each.get("status")
            if not status:
                continue
            found["ask entered" if has_entered else "ask"].append(status)
            if not has_entered and any(map(_waits, (status.get("nodes") or {}).values())):
                remote.resume(run, StepPath.parse("wait"), {"answer": "42"})
                has_entered = True
    return found


def _waits(node: Json) -> bool:
    return bool(node["type"] == "Suspend" and node["phase"] == "Running")


if __name__ == "__main__":
    parts = []
    for name, statuses in record().items():
        lines = ",\n".join(json.dumps(one, sort_keys=True) for one in statuses)
        parts.append(f'"{name}": [\n{lines}\n]')
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    sys.stdout.write(f"{FILE}\n")
