"""Inside a group a handled failure leaves the group well."""

from tests.corpus.build import Expected, flow, group, on_failure, sh

workflow = flow(
    "group-handles-failure",
    group(
        "work",
        sh("bad", "exit 1"),
        sh("repair", "true", depends_on=[on_failure("bad")]),
    ),
    sh("after", "true", depends_on=["work"]),
)
expected = Expected("succeeded", succeeded="work work/repair after", failed="work/bad")
