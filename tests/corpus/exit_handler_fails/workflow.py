"""A failed handler fails the run, and does not stop the other one."""

from couler.ir.workflow import ExitHandler
from tests.corpus.build import Expected, flow, out, ref, sh

workflow = flow(
    "exit-handler-fails",
    sh("work", "echo done"),
    outputs=[out("work", source=ref("work"))],
    exit_handlers=[
        ExitHandler(
            name="broken",
            on="any",
            steps=(sh("bad", "exit 1"), sh("after", "true", depends_on=["bad"])),
        ),
        ExitHandler(name="fine", on="any", steps=(sh("say", "true"),)),
    ],
)
expected = Expected(
    "failed",
    succeeded="work exit:fine exit:fine/say",
    failed="exit:broken exit:broken/bad",
    omitted="exit:broken/after",
)
