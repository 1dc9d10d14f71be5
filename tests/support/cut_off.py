"""A workflow that is cancelled on each engine while some of it runs, and how its steps end."""

from __future__ import annotations

from couler.ir.policies import Foreach
from couler.ir.values import Literal
from couler.ir.workflow import ExitHandler, Workflow
from tests.corpus.build import flow, group, item, sh

RUNNING = ("first", "part/a", "each[0]")
"""What runs when it is cancelled."""

ENDS = {
    "first": "cancelled",
    "part": "cancelled",
    "part/a": "cancelled",
    "part/b": "omitted",
    "each": "cancelled",
    "each[0]": "cancelled",
    "each[1]": "omitted",
    "bad": "failed",
    "behind": "omitted",
    "next": "omitted",
    "exit:tell": "succeeded",
    "exit:tell/mail": "succeeded",
}


def cut_off(name: str, slow: str, bad: str = "exit 3") -> Workflow:
    """Return a workflow with a slow line of shell in each branch but that of a step that fails."""
    each = sh("each", f"echo $1; {slow}", item("n"), foreach=[1, 2])
    one_by_one = Foreach(over={"n": Literal(value=[1, 2])}, max_parallel=1)
    return flow(
        name,
        sh("first", f"echo at; {slow}"),
        group("part", sh("a", slow), sh("b", "true", depends_on=["a"])),
        each.model_copy(update={"foreach": one_by_one}),
        sh("bad", bad),
        sh("behind", "true", depends_on=["bad"]),
        group("next", sh("inner", "echo on"), depends_on=["first"]),
        exit_handlers=(ExitHandler(name="tell", on="failure", steps=(sh("mail", "true"),)),),
    )
