"""A sidecar that fails by itself fails the step; one that is ended with the step does not.

The first step waits for a second, in which its sidecar has time to end.
"""

from couler.ir.pods import PodContainer
from couler.ir.storage import EmptyVolume, Mount
from tests.corpus.build import SHELL_IMAGE, Expected, flow, sh

SHARED_MOUNT = Mount(volume="shared", path="/shared")


def beside(script: str) -> list[PodContainer]:
    return [
        PodContainer(
            name="beside",
            image=SHELL_IMAGE,
            command=("sh", "-c", script),
            mounts=(SHARED_MOUNT,),
        )
    ]


WAIT = "until test -e /shared/done; do sleep 0.05; done"
workflow = flow(
    "sidecar-fails",
    sh(
        "broken",
        f"{WAIT}; sleep 1",
        mounts=[SHARED_MOUNT],
        sidecars=beside("touch /shared/done; exit 5"),
    ),
    sh("done", WAIT, mounts=[SHARED_MOUNT], sidecars=beside("touch /shared/done")),
    sh(
        "ended",
        WAIT,
        mounts=[SHARED_MOUNT],
        sidecars=beside("touch /shared/done; while true; do sleep 0.05; done"),
    ),
    volumes=[EmptyVolume(name="shared")],
)
expected = Expected("failed", succeeded="done ended", failed="broken")
