"""Only the named exit codes are tried again."""

from couler.ir.policies import Retry
from tests.corpus.build import SHARED, Expected, flow, on_failure, param, parameter, sh

# Counts its attempts in a file, then ends with that number plus 70.
count = 'echo x >> "$1/$2"; exit $((70 + $(wc -l < "$1/$2")))'

workflow = flow(
    "retry-exit-codes",
    sh("stops-at-72", count, param("shared"), "a", retry=Retry(limit=5, exit_codes=(71,))),
    sh("runs-out", count, param("shared"), "b", retry=Retry(limit=2, exit_codes=(71, 72, 73, 74))),
    sh(
        "attempts",
        'echo $(wc -l < "$1/a") $(wc -l < "$1/b")',
        param("shared"),
        depends_on=[on_failure("stops-at-72"), on_failure("runs-out")],
    ),
    parameters=[parameter("shared")],
)
parameters = {"shared": SHARED}
expected = Expected(
    "succeeded",
    succeeded="attempts",
    failed="stops-at-72 runs-out",
    outputs={"attempts": {"result": "2 3"}},
)
