# Started as a file, as a module or from cells: the steps have the same names.
import couler.argo as couler


class Names:
    def submit(self, workflow):
        print(" ".join(step.name for step in workflow.to_ir().steps))


def say(text):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[text])


def main():
    couler.run_container(image="alpine:3.20", command=["echo", "in main"])
    say("a")
    for text in "bc":
        say(text)


couler.run_script(image="python:3.12-slim", source=lambda: print("at the top"))
(lambda: couler.run_container(image="docker.io/library/alpine:3.20", command=["true"]))()
main()
couler.run(submitter=Names())
