# Conditions on plain values are decided while the program runs: no step is made in vain.
import sys

import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

TARGET = "staging"
REPLICAS = 3
DEBUG = "--debug" in sys.argv


def say(text, name):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[text], step_name=name)


build = say("built", "build")
couler.when(couler.equal(TARGET, "production"), lambda: say("ask first", "ask"))
couler.when(couler.equal(TARGET, "staging"), lambda: say("deploy", "deploy"))
couler.when(couler.bigger(REPLICAS, 1), lambda: say("balance", "balance"))
couler.when(couler.bigger_equal(REPLICAS, 5), lambda: say("page", "page"))
couler.when(couler.not_equal(DEBUG, False), lambda: say("trace", "trace"))
couler.when(
    couler.equal(build, "built"),
    lambda: couler.when(couler.smaller(REPLICAS, 4), lambda: say("small", "small")),
)

couler.run(submitter=ArgoSubmitter())
