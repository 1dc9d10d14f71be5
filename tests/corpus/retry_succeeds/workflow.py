"""The third attempt succeeds. Each has a new folder; the count lies outside of it."""

from couler.ir.policies import Backoff, Retry
from tests.corpus.build import SHARED, Expected, flow, param, parameter, sh

workflow = flow(
    "retry-succeeds",
    sh(
        "flaky",
        'test ! -e "$COULER_WORK/mark" || exit 9; touch "$COULER_WORK/mark"; '
        'echo x >> "$1/count"; test $(wc -l < "$1/count") -eq 3 && echo at last',
        param("shared"),
        retry=Retry(limit=2, backoff=Backoff(seconds=0.01)),
    ),
    sh("after", "true", depends_on=["flaky"]),
    parameters=[parameter("shared")],
)
parameters = {"shared": SHARED}
expected = Expected("succeeded", succeeded="flaky after", outputs={"flaky": {"result": "at last"}})
