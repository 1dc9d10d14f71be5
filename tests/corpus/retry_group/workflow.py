"""A group that is tried again runs as a whole again; what its first attempt left is forgotten."""

from couler.ir.policies import Retry
from tests.corpus.build import SHARED, Expected, flow, given, group, out, param, parameter, ref, sh

workflow = flow(
    "retry-group",
    group(
        "work",
        sh("count", 'echo x >> "$1/n"; echo $(wc -l < "$1/n")', param("shared"), result="int"),
        sh("second-time", 'test "$1" -eq 2 && echo "time $1"', ref("count")),
        sh("after", "true", depends_on=["second-time"]),
        inputs=[given("shared", param("shared"))],
        outputs=[out("said", source=ref("second-time"))],
        retry=Retry(limit=1),
    ),
    parameters=[parameter("shared")],
)
parameters = {"shared": SHARED}
expected = Expected(
    "succeeded",
    succeeded="work work/count work/second-time work/after",
    outputs={"work": {"said": "time 2"}, "work/count": {"result": 2}},
)
