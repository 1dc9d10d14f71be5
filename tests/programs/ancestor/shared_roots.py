# Paths of a graph in any order: "load" is a root of one path before another gives it a predecessor.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def step(name):
    couler.run_container(image="alpine:3.20", command=["echo"], args=[name], step_name=name)


paths = [
    ["load", "clean", "train"],
    ["load", "count"],
    ["setup", "load"],  # only now is "load" no root any more
    ["setup", "load"],  # the same once more adds nothing
    ["count", "report"],
    ["train", "report"],
]

couler.dag([[(lambda name=name: step(name)) for name in path] for path in paths])

couler.run(submitter=ArgoSubmitter(namespace="ml"))
