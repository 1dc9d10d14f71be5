"""Large workflows with data along their edges, for tests of splitting."""

from __future__ import annotations

from couler.ir.policies import AnyOf, Dependency
from couler.ir.values import StepRef
from couler.ir.workflow import Container, Output, Parameter, Step, Workflow

SHELL = (
    "sh",
    "-c",
    'total=1; for one; do total=$((total + one)); done; echo "$((total % 997))"',
    "-",
)


def layered(count: int, width: int, *, fails: frozenset[str] = frozenset()) -> Workflow:
    """Return a workflow of layers: each step adds up what two of the layer before gave.

    Parameters
    ----------
    count
        How many steps, at least one.
    width
        Steps in a layer.
    fails
        Names of steps that fail: `s7` is the eighth.
    """
    steps = []
    for number in range(count):
        layer, place = divmod(number, width)
        before = sorted({place, (place + 1) % width}) if layer else []
        args = tuple(StepRef(step=f"s{(layer - 1) * width + one}") for one in before)
        command = ("false",) if f"s{number}" in fails else SHELL
        steps.append(
            Step(
                name=f"s{number}",
                action=Container(image="busybox", command=command, args=args),
                outputs=(Output(type="int"),),
            )
        )
    last = StepRef(step=f"s{count - 1}")
    return Workflow(
        name="layers",
        parameters=(Parameter(name="unused", default=""),),
        steps=tuple(steps),
        outputs=() if fails else (Output(name="last", type="int", value=last),),
    )


def many_outputs(count: int, width: int, outputs: int) -> Workflow:
    """Return layers of steps of which each reads all outputs of three of the layer before."""
    declared = tuple(Output(name=f"o{one}", path=f"/tmp/o{one}") for one in range(outputs))
    steps = []
    for number in range(count):
        layer, place = divmod(number, width)
        before = {(place * 7 + one * 13) % width for one in range(3)} if layer else set()
        args = tuple(
            StepRef(step=f"s{(layer - 1) * width + one}", output=output.name)
            for one in sorted(before)
            for output in declared
        )
        action = Container(image="busybox", command=("make",), args=args)
        steps.append(Step(name=f"s{number}", action=action, outputs=declared))
    return Workflow(name="wide", steps=tuple(steps))


def either_way(count: int) -> Workflow:
    """Return steps of which the later half waits for one of the others to fail, or another to end.

    An edge for a failure and one for a success need a task each where they lead into a part.
    """
    half = count // 2
    action = Container(image="busybox", command=("true",))
    steps = [Step(name=f"s{number}", action=action) for number in range(half)]
    for number in range(half):
        pairs = [(number, number * 7 + 3), (number * 11 + 5, number * 17 + 1)]
        waits = tuple(
            AnyOf(options=(Dependency(step=f"s{one % half}", on="failure"), f"s{other % half}"))
            for one, other in pairs
        )
        steps.append(Step(name=f"t{number}", action=action, depends_on=waits))
    return Workflow(name="either", steps=tuple(steps))
