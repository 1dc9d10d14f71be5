"""Steps may have any name that the verifier takes: none meets one of the compiler's own."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given, strategies as st

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import ConfigKey, ExitHandler, Parameter, Step, Workflow
from tests.backends.airflow.files import places_of
from tests.corpus.build import (
    compare,
    flow,
    given as input_,
    group,
    item,
    last,
    on_completion,
    out,
    param,
    py,
    ref,
    run,
    sh,
    while_,
)

BACKEND = AirflowBackend()
CONFIG = Parameter(name="p", config=ConfigKey(config_map="site", key="k"))

BASES = ("a", "h", "exit", "exit-a", "exit-h", "when", "end", "item", "items", "leaves", "LEAVES")
OWN = ("run-status", "run-outputs", "run-parameters", "may-start", "bound_20", "round_1", "rounds")
ENDINGS = ("", "", "-needs", "-items", "-lists", "_1", "_", "-needs_", "-end", "-when")
NAMES = st.builds(
    lambda base, end: base + end, st.sampled_from([*BASES, *OWN]), st.sampled_from(ENDINGS)
)
KINDS = ("plain", "script", "mapped", "made", "group", "loop", "each", "each-made", "each-loop")


def step_of(name: str, kind: str, inner: str, before: str | None) -> Step:
    """Return a step of a kind that waits for the end of another."""
    waits = {} if before is None else {"depends_on": [on_completion(before)]}
    inside = (sh(inner, "echo 1"), sh(f"{inner}-x", "true", depends_on=[on_completion(inner)]))
    again = while_(compare(last("o", initial="0"), "==", "1"))
    outputs = [out("o", source=ref(inner))]
    match kind:
        case "plain":
            return sh(name, "echo 1", **waits)
        case "script":
            return py(name, "print(1)", **waits)
        case "mapped":
            return sh(name, "echo $1", item(), foreach=[1, 2], **waits)
        case "made":
            return sh(name, "echo $1", item(), foreach=param("list"), **waits)
        case "group":
            return group(name, *inside, when=compare(param("p"), "==", "1"), **waits)
        case "loop":
            return group(name, *inside, outputs=outputs, loop=again, **waits)
    return group(
        name,
        *inside,
        inputs=[input_("n", item())],
        outputs=outputs,
        foreach=param("list") if kind == "each-made" else [1, 2],
        loop=again if kind == "each-loop" else None,
        **waits,
    )


def workflow_of(
    names: list[str], kinds: list[str], inner: str, handlers: list[str], *, suspended: bool
) -> Workflow:
    steps = [
        step_of(name, kind, inner, before)
        for name, kind, before in zip(names, kinds, [None, *names], strict=False)
    ]
    return flow(
        "names",
        *steps,
        parameters=[CONFIG, Parameter(name="list", type="list", default=(1, 2))],
        outputs=[out("first", source=param("p"))],
        exit_handlers=[
            ExitHandler(name=one, on="any", steps=(sh(inner, "echo $1", run("status")),))
            for one in handlers
        ],
        suspended=suspended,
    )


def loads(workflow: Workflow) -> None:
    text = BACKEND.compile(resolve_defaults(workflow), Target()).to_text()
    assert [name for name, count in Counter(places_of(text)).items() if count > 1] == []


@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique_by=lambda name: name.replace("_", "-")),
    kinds=st.lists(st.sampled_from(KINDS), min_size=4, max_size=4),
    inner=NAMES,
    handlers=st.lists(NAMES, max_size=2, unique_by=lambda name: name.replace("_", "-")),
    suspended=st.booleans(),
)
@example(["a", "exit-a"], ["plain"] * 2, "when", ["a-needs"], True)
@example(["exit-h"], ["plain"], "when", ["h", "h_"], True)
def test_any_names_load(
    names: list[str], kinds: list[str], inner: str, handlers: list[str], suspended: bool
) -> None:
    loads(workflow_of(names, kinds, inner, handlers, suspended=suspended))
