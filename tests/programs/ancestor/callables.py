# Anything that can be called makes steps: partial functions, methods, objects, lambdas.
import functools

import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def say(*words, name=None):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=words, step_name=name)


class Team:
    def __init__(self, name):
        self.name = name

    def greet(self):
        return say("hello %s" % self.name)

    def __call__(self, text="called"):
        return say(self.name, text)


red, blue = Team("red"), Team("blue")
first = functools.partial(say, "first", name="first")

couler.set_dependencies(first)
couler.concurrent([red.greet, blue, functools.partial(say, "third"), lambda: say("fourth")])
couler.map(functools.partial(say, name="item"), [1, 2])
couler.map(blue, ["a", "b"])
couler.when(couler.equal(couler.get_step_output("first")[-1], "first"), red.greet)
couler.exec_while(couler.equal("again"), functools.partial(say, "done"))
couler.dag([[functools.partial(say, "x", name="x"), functools.partial(say, "y", name="y")]])
couler.set_exit_handler(couler.WFStatus.Succeeded, functools.partial(say, "bye", name="bye"))

couler.run(submitter=ArgoSubmitter())
