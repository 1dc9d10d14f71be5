# A decision for each item: large parts are split, small ones are taken as they are.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def measure(size):
    return couler.run_container(
        image="alpine:3.20", command=["echo"], args=[size], step_name="measure"
    )


def say(name, size):
    return couler.run_container(
        image="alpine:3.20", command=["echo", name], args=[size], step_name=name
    )


def handle(size):
    measured = measure(size)
    couler.when(couler.bigger(measured, 10), lambda: say("split", measured))
    couler.when(couler.smaller_equal(measured, 10), lambda: say("take", measured))


couler.map(handle, [5, 50])

couler.run(submitter=ArgoSubmitter())
