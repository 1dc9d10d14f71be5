# Functions with a graph of their own, used as parts: side by side, and once for each item.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def say(text, name):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[text], step_name=name)


def etl(source):
    couler.dag(
        [
            [lambda: say(source, "extract"), lambda: say("clean", "clean")],
            [lambda: say(source, "extract"), lambda: say("count", "count")],
            [lambda: say("clean", "clean"), lambda: say("load", "load")],
            [lambda: say("count", "count"), lambda: say("load", "load")],
        ]
    )


def users():
    etl("users")


def orders():
    etl("orders")


say("begin", "begin")
couler.concurrent([users, orders], subtasks=True)
couler.map(lambda region: etl(region), ["east", "west"])
say("end", "end")

couler.run(submitter=ArgoSubmitter())
