with DAG(
    dag_id="list-files-of-nothing",
    user_defined_macros={"output": output, "PROCESS": PROCESS},
): ...
nothing = KubernetesPodOperator(
    task_id="nothing",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        ["result", "", "key", "pictures"],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
)
alike = KubernetesPodOperator(
    task_id="alike",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        ["result", "", "key", "tab"],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
)
one = KubernetesPodOperator(
    task_id="one",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        ["result", "", "key", "tables/b.csv"],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
)
after = KubernetesPodOperator(
    task_id="after",
    image="python:3.12-slim",
    **process(
        ["echo", '{{ output(ti, "nothing") | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
nothing >> after
