# Two maps, each followed by its reduction; the second map goes over what the first reduction gave.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def split(text):
    return couler.run_script(
        image="python:3.12-slim",
        source="import json, sys; print(json.dumps(sys.argv[1].split()))",
        args=[text],
        step_name="split",
    )


def measure(word):
    return couler.run_script(
        image="python:3.12-slim", source="import sys; print(len(sys.argv[1]))", args=[word]
    )


def largest(sizes):
    return couler.run_script(
        image="python:3.12-slim",
        source="import json, sys; print(list(range(max(map(int, json.loads(sys.argv[1]))))))",
        args=[sizes],
        step_name="largest",
    )


def square(number):
    return couler.run_container(
        image="alpine:3.20", command=["sh", "-c", "echo $(($0 * $0))"], args=[number]
    )


def total(squares):
    return couler.run_script(
        image="python:3.12-slim",
        source="import json, sys; print(sum(map(int, json.loads(sys.argv[1]))))",
        args=[squares],
        step_name="total",
    )


words = split("multiple sequential map reduce")
sizes = couler.map(measure, words)
numbers = largest(sizes)
squares = couler.map(square, numbers)
total(squares)

couler.run(submitter=ArgoSubmitter())
