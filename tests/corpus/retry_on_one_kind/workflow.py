"""A process that ends badly is a failure: a retry on errors alone does not try it again."""

from couler.ir.policies import Retry
from tests.corpus.build import SHARED, Expected, flow, on_failure, param, parameter, sh

count = 'echo x >> "$1/$2"; exit 1'

workflow = flow(
    "retry-on-one-kind",
    sh("on-errors", count, param("shared"), "a", retry=Retry(limit=2, on=("error",))),
    sh("on-failures", count, param("shared"), "b", retry=Retry(limit=2, on=("failure",))),
    sh(
        "attempts",
        'echo $(wc -l < "$1/a") $(wc -l < "$1/b")',
        param("shared"),
        depends_on=[on_failure("on-errors"), on_failure("on-failures")],
    ),
    parameters=[parameter("shared")],
)
parameters = {"shared": SHARED}
expected = Expected(
    "succeeded",
    succeeded="attempts",
    failed="on-errors on-failures",
    outputs={"attempts": {"result": "1 3"}},
)
