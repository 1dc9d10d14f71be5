import couler


def tell(text):
    return couler.run_container("alpine:3.20", ["echo", text], step_name="tell")


with couler.Workflow("coin"):
    side = couler.run_script(
        "python:3.12-alpine",
        source='import random\n\nprint(random.choice(["heads", "tails"]))',
        step_name="flip",
    )
    with couler.when(side == "heads"):
        tell("it was heads")
    with couler.when(side == "tails"):
        tell("it was tails")
