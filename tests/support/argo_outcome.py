"""The outcome of a run under Argo at the paths of the workflow's own steps."""

from __future__ import annotations

import typing as t

from couler.backends.argo.observe import Observer, decoded
from couler.ir.workflow import Output, Workflow
from tests.oracle.argo.result import OracleRun


class Outcome:
    """Statuses and outputs by path.

    Parameters
    ----------
    workflow
        The workflow, its defaults resolved, as it was compiled.
    run
        What Argo made of its manifest.
    """

    def __init__(self, workflow: Workflow, run: OracleRun) -> None:
        found = Observer(workflow).observe(run.whole)
        steps = {str(seen.path): seen for seen in found.steps}
        self.status = found.status
        self.states = {path: seen.status for path, seen in steps.items()}
        self.messages = {path: seen.message for path, seen in steps.items() if seen.message}
        self.outputs: dict[str, dict[str, object]] = {
            path: {name: _value(output) for name, output in seen.outputs.items()}
            for path, seen in steps.items()
            if seen.outputs
        }
        self.run_outputs = dict(found.outputs)


def _value(output: t.Any) -> object:
    if isinstance(output, list):
        return [None if item is None else _value(item) for item in output]
    return decoded(output["text"], Output(type=output["type"]))
