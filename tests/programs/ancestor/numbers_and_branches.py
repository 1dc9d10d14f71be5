# Comparisons of numbers, text with quotes and blanks, and branches inside of branches.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def draw():
    print(7)


def name_it():
    return couler.run_container(
        image="alpine:3.20", command=["echo", "it's two words"], step_name="name-it"
    )


def tell(text, name):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[text], step_name=name)


number = couler.run_script(image="python:3.12-slim", source=draw, step_name="draw")
couler.when(couler.bigger(number, 5), lambda: tell("large", "large"))
couler.when(couler.smaller_equal(number, 5), lambda: tell("small", "small"))
couler.when(couler.bigger_equal(number, 10), lambda: tell("huge", "huge"))

title = name_it()
couler.when(
    couler.equal(title, "it's two words"),
    lambda: couler.when(couler.not_equal(number, 8), lambda: tell("both", "both")),
)
couler.when(couler.equal(title, "its two words"), lambda: tell("misread", "misread"))

couler.run(submitter=ArgoSubmitter())
