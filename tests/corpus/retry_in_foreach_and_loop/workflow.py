"""Attempts belong to the round, rounds to the item."""

from couler.ir.policies import Retry
from tests.corpus.build import (
    SHARED,
    Expected,
    compare,
    flow,
    item,
    last,
    param,
    parameter,
    sh,
    while_,
)

workflow = flow(
    "retry-in-foreach-and-loop",
    sh(
        "work",
        # The first attempt of every round fails.
        'mark="$1/$2-$3"; test -e "$mark" || { touch "$mark"; exit 1; }; echo $(($3 + 1))',
        param("shared"),
        item(),
        last(initial=0),
        result="int",
        foreach=["a", "b"],
        loop=while_(compare(last(), "<", 2)),
        retry=Retry(limit=1),
    ),
    parameters=[parameter("shared")],
)
parameters = {"shared": SHARED}
expected = Expected(
    "succeeded",
    succeeded="work work[0] work[0]@0 work[0]@1 work[1] work[1]@0 work[1]@1",
    outputs={"work": {"result": [2, 2]}},
)
