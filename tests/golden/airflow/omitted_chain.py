with DAG(
    dag_id="omitted-chain",
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
root = KubernetesPodOperator(
    task_id="root",
    image="busybox:1.36",
    **process(["sh", "-c", "echo root"], outputs=["result=-"]),
)
bad = KubernetesPodOperator(
    task_id="bad",
    image="busybox:1.36",
    **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
)
root >> bad
next_ = KubernetesPodOperator(
    task_id="next",
    image="busybox:1.36",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ output(ti, "bad") | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
bad >> next_
last = KubernetesPodOperator(
    task_id="last",
    image="busybox:1.36",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
next_ >> last
other = KubernetesPodOperator(
    task_id="other",
    image="busybox:1.36",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ output(ti, "root") | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
root >> other
joined_2 = KubernetesPodOperator(
    task_id="joined",
    image="busybox:1.36",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
[other, last] >> joined_2
other_end = KubernetesPodOperator(
    task_id="other-end",
    image="busybox:1.36",
    **process(
        ["sh", "-c", 'echo "$1 end"', "sh", '{{ output(ti, "other") | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
other >> other_end
