with DAG(
    dag_id="file-kept-at-location",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"name": Param("first", type="string")},
    user_defined_macros={"FILES": FILES, "PROCESS": PROCESS, "place": place, "joined": joined},
): ...
make = KubernetesPodOperator(
    task_id="make",
    **process_with_files(
        [
            "sh",
            "-c",
            'printf good > "$COULER_WORK/model"; mkdir "$COULER_WORK/parts"; echo 1 > "$COULER_WORK/parts/one"; echo 2 > "$COULER_WORK/parts/two"',
        ],
        after=[
            ["keep", "file", "model", "model"],
            [
                "keep",
                "file",
                "",
                "model",
                '{{ joined("models/", params["name"], ".bin") | replace("$", "$$") }}',
            ],
            ["keep", "directory", "parts", "parts"],
            ["keep", "directory", "", "parts", "parts/all"],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
read = KubernetesPodOperator(
    task_id="read",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_model"; cat "$COULER_INPUT_parts"/*'],
        before=[
            ["take", "file", "inputs/model", '{{ ti.xcom_pull("make")["model"] }}'],
            ["take", "directory", "inputs/parts", '{{ ti.xcom_pull("make")["parts"] }}'],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_model": "/tmp/couler/inputs/model",
        "COULER_INPUT_parts": "/tmp/couler/inputs/parts",
    },
)
make >> read
fetch = KubernetesPodOperator(
    task_id="fetch",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_model"'],
        before=[
            [
                "take",
                "file",
                "inputs/model",
                '{{ joined("models/", params["name"], ".bin") | replace("$", "$$") }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_model": "/tmp/couler/inputs/model"},
)
make >> fetch
with TaskGroup("inside") as inside:
    look = KubernetesPodOperator(
        task_id="look",
        **process_with_files(
            ["sh", "-c", 'cat "$COULER_INPUT_it"'],
            before=[["take", "file", "inputs/it", '{{ ti.xcom_pull("make")["model"] }}']],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_it": "/tmp/couler/inputs/it"},
    )
make >> inside
done = KubernetesPodOperator(
    task_id="done",
    image="python:3.12-slim",
    **process(["true"], outputs=["result=-"]),
)
inside >> done
