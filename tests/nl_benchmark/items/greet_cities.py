import couler


def greet(city):
    return couler.run_container("busybox:1.37", ["echo", "hello"], args=[city], step_name="greet")


with couler.Workflow("greetings"):
    couler.map(greet, ["Berlin", "Paris", "Rome"])
