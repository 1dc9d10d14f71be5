# Recursion: of the program, which makes a tree of merges, and of a loop inside of a loop.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def join(left, right):
    return couler.run_container(
        image="alpine:3.20", command=["sh", "-c", 'echo "($0+$1)"'], args=[left, right]
    )


def merge(items):
    if len(items) == 1:
        return items[0]
    middle = len(items) // 2
    return join(merge(items[:middle]), merge(items[middle:]))


def flip():
    return couler.run_script(image="python:3.12-slim", source=lambda: print("tails"))


merged = merge(["a", "b", "c", "d", "e"])
outer = couler.exec_while(
    couler.equal("heads"), lambda: couler.exec_while(couler.equal("heads"), flip)
)
couler.run_container(
    image="alpine:3.20", command=["echo"], args=[merged, outer], step_name="result"
)

couler.run(submitter=ArgoSubmitter())
