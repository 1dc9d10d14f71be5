# Listing 3 of the Couler paper: which step runs depends on what another has printed.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def random_code():
    import random

    res = "heads" if random.randint(0, 1) == 0 else "tails"
    print(res)


def flip_coin():
    return couler.run_script(image="python:alpine3.6", source=random_code)


def heads():
    return couler.run_container(image="alpine:3.6", command=["sh", "-c", 'echo "it was headed"'])


def tails():
    return couler.run_container(image="alpine:3.6", command=["sh", "-c", 'echo "it was tailed"'])


result = flip_coin()
couler.when(couler.equal(result, "heads"), lambda: heads())
couler.when(couler.equal(result, "tails"), lambda: tails())
couler.run(submitter=ArgoSubmitter())
