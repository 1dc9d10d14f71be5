# All names at once, as many programs have them; `map` is Couler's from here on.
from couler.argo import *


def say(text):
    return run_container(image="alpine:3.20", command=["echo"], args=[text])


config_workflow(name="starred", timeout=600)
greeting = say("hello")
when(equal(greeting, "hello"), lambda: say("and goodbye"))
map(lambda number: say(number), [1, 2])

run(submitter=ArgoSubmitter())
