"""A container before a step that fails fails the attempt: the step's own process does not run."""

from couler.ir.pods import PodContainer
from couler.ir.policies import Retry
from tests.corpus.build import (
    SHARED,
    SHELL_IMAGE,
    Expected,
    flow,
    on_failure,
    param,
    parameter,
    sh,
)


def before(script: str, *args: object) -> list[PodContainer]:
    command = ("sh", "-c", script)
    return [PodContainer(name="prepare", image=SHELL_IMAGE, command=command, args=args)]


workflow = flow(
    "init-container-fails",
    sh("never", 'touch "$1/ran"', param("shared"), init_containers=before("exit 3")),
    sh(
        "after",
        'test ! -e "$1/ran" && echo right',
        param("shared"),
        depends_on=[on_failure("never")],
    ),
    sh(
        "second",
        "echo ran",
        init_containers=before('mkdir "$1/first" && exit 4; exit 0', "sh", param("shared")),
        retry=Retry(limit=1),
    ),
    parameters=[parameter("shared")],
)
parameters = {"shared": SHARED}
expected = Expected(
    "succeeded",
    succeeded="after second",
    failed="never",
    outputs={"after": {"result": "right"}, "second": {"result": "ran"}},
)
