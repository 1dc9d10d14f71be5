import couler

with couler.Workflow("until-heads"):
    with couler.loop(while_=lambda: side == "tails", max_iterations=12):
        side = couler.run_script(
            "python:3.12-alpine",
            source='import random\n\nprint(random.choice(["heads", "tails"]))',
            step_name="flip",
        )
