# A search over a grid that Python makes: its points run side by side, a script picks the best.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

GRID = [(rate, depth) for rate in (1, 2) for depth in (3, 4)]


def train(rate, depth):
    return couler.run_script(
        image="python:3.12-slim",
        source="import sys\nprint(int(sys.argv[1]) * 10 + int(sys.argv[2]))",
        args=[rate, depth],
        step_name="train-%d-%d" % (rate, depth),
    )


def best(scores):
    return couler.run_script(
        image="python:3.12-slim",
        source="import sys\nprint(max(sys.argv[1:], key=int))",
        args=scores,
        step_name="best",
    )


best(couler.concurrent([lambda point=point: train(*point) for point in GRID]))

couler.run(submitter=ArgoSubmitter())
