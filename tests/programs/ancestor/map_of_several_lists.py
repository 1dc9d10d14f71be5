# A map over three lists at once: a list, a range and a tuple.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def train(model, depth, rate):
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", 'echo "$0 $1 $2"'],
        args=[model, depth, rate],
    )


def table(rows):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[rows])


trained = couler.map(
    lambda model, depth, rate: train(model, depth, rate),
    ["tree", "forest", "boosting"],
    range(2, 5),
    (0.1, 0.01, 0.001),
)
table(trained)

couler.run(submitter=ArgoSubmitter())
