import couler
from couler import File

with couler.Workflow("lines"):
    numbers = couler.run_container(
        "busybox:1.37",
        ["sh", "-c", "seq 5 > numbers.txt"],
        output={"numbers": File("numbers.txt")},
        working_dir=".",
        step_name="write",
    )
    couler.run_container("busybox:1.37", ["wc", "-l"], args=[numbers.numbers], step_name="count")
