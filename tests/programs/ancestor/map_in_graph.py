# A map that waits for a step of a graph, and a step that waits for all of the map.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def prepare():
    return couler.run_container(
        image="alpine:3.20", command=["echo", "prepared"], step_name="prepare"
    )


def download(url):
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", 'echo "got $0"'],
        args=[url],
        step_name="download",
    )


def merge():
    return couler.run_container(image="alpine:3.20", command=["echo", "merged"], step_name="merge")


urls = ["example.org/%d.csv" % index for index in range(3)]

couler.set_dependencies(lambda: prepare(), dependencies=None)
couler.set_dependencies(lambda: couler.map(download, urls), dependencies=["prepare"])
couler.set_dependencies(lambda: merge(), dependencies=["download"])

couler.run(submitter=ArgoSubmitter())
