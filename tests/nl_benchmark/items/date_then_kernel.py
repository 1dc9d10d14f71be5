import couler

with couler.Workflow("machine"):
    date = couler.run_container("alpine:3.20", ["date"], step_name="date")
    kernel = couler.run_container("alpine:3.20", ["uname", "-a"], step_name="kernel")
    date >> kernel
