"""At the end of a group's time what runs inside fails, and what has not started is omitted."""

from tests.corpus.build import Expected, flow, group, on_failure, sh

workflow = flow(
    "timeout-of-group",
    group(
        "work",
        sh("quick", "true"),
        sh("slow", "sleep 30", depends_on=["quick"]),
        sh("never", "true", depends_on=["slow"]),
        timeout_s=1,
    ),
    sh("handle", "true", depends_on=[on_failure("work")]),
)
expected = Expected(
    "succeeded",
    succeeded="work/quick handle",
    failed="work work/slow",
    omitted="work/never",
)
