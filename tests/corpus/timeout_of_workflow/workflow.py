"""At the end of the workflow's time it fails; exit handlers still run."""

from couler.ir.workflow import ExitHandler
from tests.corpus.build import Expected, flow, on_failure, run, sh

workflow = flow(
    "timeout-of-workflow",
    sh("quick", "true"),
    sh("slow", "sleep 30", depends_on=["quick"]),
    sh("handle", "true", depends_on=[on_failure("slow")]),
    timeout_s=1,
    exit_handlers=[
        ExitHandler(name="tell", on="any", steps=(sh("say", 'echo "$1"', run("status")),))
    ],
)
expected = Expected(
    "failed",
    succeeded="quick exit:tell exit:tell/say",
    failed="slow",
    omitted="handle",
    outputs={"exit:tell/say": {"result": "failed"}},
)
