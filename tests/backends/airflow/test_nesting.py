"""Groups in groups are refused exactly where Python would refuse the file."""

from __future__ import annotations

import sys
import typing as t

import pytest
from hypothesis import example, given, settings, strategies as st

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Foreach, Loop
from couler.ir.values import Compare, Literal, RoundRef, StepRef
from couler.ir.workflow import Output, Step, Workflow
from tests.support.sample_flows import echo, flow, group

BACKEND = AirflowBackend()
AGAIN = Loop(
    condition=Compare(left=RoundRef(), op="!=", right=Literal(value="x")), max_iterations=1
)
ITEMS = Foreach(over={"item": Literal(value=("x",))})
ITERATED: dict[str, dict[str, t.Any]] = {
    "group": {},
    "loop": {"loop": AGAIN},
    "foreach": {"foreach": ITEMS},
    "both": {"foreach": ITEMS, "loop": AGAIN},
    "empty": {"foreach": Foreach(over={"item": Literal(value=())})},
    "late": {"foreach": Foreach(over={"item": StepRef(step="list")})},
}
"""What can be around a step. Of nested ones over lists, one is mapped and the others unrolled."""
KINDS = st.sampled_from(["group"] * 6 + ["loop", "foreach", "both", "empty"])


def nested(kinds: list[str], inmost: str = "group") -> Step:
    """A step with groups around it, the first kind outside."""
    fields = ITERATED[inmost]
    made = echo("s", outputs=(Output(),) if "loop" in fields else (), **fields)
    for kind in reversed(kinds):
        outputs = (Output(value=Literal(value="y")),) if "loop" in ITERATED[kind] else ()
        made = group("g", made, outputs=outputs, **ITERATED[kind])
    return made


def assert_told(workflow: Workflow) -> bool:
    """Assert that a workflow is refused where its file is, and return whether it is."""
    workflow = resolve_defaults(workflow)
    found = [one.code for one in BACKEND.check(workflow, Target()) if one.severity == "error"]
    assert found in ([], ["CLR381"])
    text = BACKEND.compile(workflow, Target()).to_text()
    if not found:
        compile(text, "dag.py", "exec")
    elif sys.version_info < (3, 13):  # later versions take some more
        with pytest.raises(SyntaxError, match="too many statically nested blocks"):
            compile(text, "dag.py", "exec")
    return bool(found)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(KINDS, min_size=4, max_size=22), st.sampled_from(["group", "loop", "foreach", "both"])
)
@example(["group"] * 19, "group")
@example(["group"] * 20, "group")
@example(["group"] * 18, "loop")
@example(["group"] * 17, "both")
@example([*["group"] * 11, "loop", "both"], "group")  # a name that is unpacked on a line too long
def test_blocks_are_counted_as_python_counts_them(kinds: list[str], inmost: str) -> None:
    assert_told(flow(nested(kinds, inmost)))


def test_a_mapped_group_is_a_function_which_begins_anew() -> None:
    made = nested(["late", *["group"] * 20])
    listed = echo("list", outputs=(Output(type="list"),))
    assert not assert_told(flow(listed, made))
    assert assert_told(flow(listed, nested(["late", *["group"] * 21])))
