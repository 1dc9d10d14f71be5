# Listing 5 of the Couler paper: a step that runs again while it gives a certain result.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def random_code():
    import random

    result = "heads" if random.randint(0, 1) == 0 else "tails"
    print(result)


def flip_coin():
    return couler.run_script(image="python:alpine3.6", source=random_code)


# Stop flipping the coin when the output of 'flip_coin' is not 'tails'.
couler.exec_while(couler.equal("tails"), lambda: flip_coin())
couler.run(submitter=ArgoSubmitter())
