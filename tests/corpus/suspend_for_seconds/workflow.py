"""A pause of some seconds is a step like others."""

from couler.ir.workflow import Step, Suspend
from tests.corpus.build import Expected, flow, sh

workflow = flow(
    "suspend-for-seconds",
    sh("a", "true"),
    Step(name="pause", action=Suspend(seconds=0.1, message="cooling down"), depends_on=("a",)),
    sh("b", "echo rested", depends_on=["pause"]),
)
expected = Expected("succeeded", succeeded="a pause b", outputs={"b": {"result": "rested"}})
