"""Too late is a failure of the attempt; what the process had started ends with it."""

from couler.ir.policies import Retry
from tests.corpus.build import SHARED, Expected, flow, on_failure, param, parameter, sh

workflow = flow(
    "timeout",
    sh(
        "slow",
        'echo x >> "$1/n"; (sleep 30; touch "$1/outlived") & sleep 30',
        param("shared"),
        timeout_s=3,
        retry=Retry(limit=1),
    ),
    sh(
        "look",
        'test -e "$1/outlived" || echo "$(wc -l < "$1/n") attempts"',
        param("shared"),
        depends_on=[on_failure("slow")],
    ),
    sh("in-time", "echo quick", timeout_s=20),
    parameters=[parameter("shared")],
)
parameters = {"shared": SHARED}
expected = Expected(
    "succeeded",
    succeeded="look in-time",
    failed="slow",
    outputs={"look": {"result": "2 attempts"}, "in-time": {"result": "quick"}},
)
