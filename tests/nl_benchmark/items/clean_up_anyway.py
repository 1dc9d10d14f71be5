import couler

IMAGE = "registry.example.org/bench:2"

with couler.Workflow("bench"):
    test = couler.run_container(IMAGE, ["load-test"], step_name="load-test")
    tear_down = couler.run_container(IMAGE, ["tear-down"], step_name="tear-down")
    couler.completion(test) >> tear_down
