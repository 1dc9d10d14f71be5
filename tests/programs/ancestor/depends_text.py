# How a step waits for another is said by a text: success, failure, one or the other.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def passing(name):
    return couler.run_container(image="alpine:3.20", command=["sh", "-c", "exit 0"], step_name=name)


def failing(name):
    return couler.run_container(image="alpine:3.20", command=["sh", "-c", "exit 1"], step_name=name)


couler.set_dependencies(lambda: passing("A"), dependencies=None)
couler.set_dependencies(lambda: passing("B"), dependencies="A")
couler.set_dependencies(lambda: failing("C"), dependencies="A")
couler.set_dependencies(
    lambda: passing("should-run-1"), dependencies="B && (C.Succeeded || C.Failed)"
)
couler.set_dependencies(lambda: passing("should-run-2"), dependencies="B.Succeeded && C.Failed")
couler.set_dependencies(lambda: passing("should-not-run"), dependencies="B.Failed")

couler.run(submitter=ArgoSubmitter())
