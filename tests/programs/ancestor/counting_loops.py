# Loops that count in a folder that all rounds see, until the counter is large enough.
import os

import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

STATE = {"STATE": os.environ.get("STATE", "/tmp/couler-counting")}


def next_number():
    import os

    path = os.path.join(os.environ["STATE"], "first")
    count = 0
    if os.path.exists(path):
        with open(path) as file:
            count = int(file.read())
    count += 1
    with open(path, "w") as file:
        file.write(str(count))
    print(count)


def count_in_python():
    return couler.run_script(image="python:3.12-slim", source=next_number, env=STATE)


def count_in_shell():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "echo x >> $STATE/second; wc -l < $STATE/second | tr -d ' '"],
        env=STATE,
    )


couler.run_container(
    image="alpine:3.20",
    command=["sh", "-c", "mkdir -p $STATE; rm -f $STATE/first $STATE/second"],
    env=STATE,
    step_name="reset",
)
reached = couler.exec_while(couler.smaller(3), count_in_python)
couler.exec_while(couler.not_equal("2"), lambda: count_in_shell())
couler.run_container(image="alpine:3.20", command=["echo"], args=[reached], step_name="tell")

couler.run(submitter=ArgoSubmitter())
