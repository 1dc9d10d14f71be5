# A choice inside of a graph: the branch keeps its arguments and the steps that it waits for.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def flip_coin():
    return couler.run_script(
        image="python:3.12-slim", source="print('heads')", step_name="flip-coin"
    )


def tell(name, text):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[text], step_name=name)


result = couler.set_dependencies(flip_coin, dependencies=None)
couler.set_dependencies(lambda: tell("prepare", "ready"), dependencies=None)
couler.set_dependencies(
    lambda: couler.when(couler.equal(result, "heads"), lambda: tell("heads", "it was heads")),
    dependencies=["prepare"],
)
couler.set_dependencies(
    lambda: couler.when(couler.equal(result, "tails"), lambda: tell("tails", "it was tails")),
    dependencies=["prepare"],
)
couler.set_dependencies(lambda: tell("done", "done"), dependencies=["heads", "tails"])

couler.run(submitter=ArgoSubmitter())
