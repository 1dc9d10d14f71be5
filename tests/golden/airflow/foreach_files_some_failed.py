WRITE_ITEMS = [{"item": "a"}, {"item": "b"}, {"item": "c"}]
LEAVES = ["all"]

with DAG(
    dag_id="foreach-files-some-failed",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "WRITE_ITEMS": WRITE_ITEMS,
        "FILES": FILES,
        "PROCESS": PROCESS,
        "place": place,
        "gathered": gathered,
        "if_started": if_started,
        "first_of": first_of,
        "lines": lines,
    },
) as dag: ...
# What is expanded is a label; each task reads its item by its map index.
write = KubernetesPodOperator.partial(
    task_id="write",
    **process_with_files(
        [
            "sh",
            "-c",
            'test "$1" != b && echo "$1" > "$COULER_WORK/f"',
            "sh",
            '{{ WRITE_ITEMS[ti.map_index]["item"] }}',
        ],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
).expand(labels=[{"couler-item": str(index)} for index in range(len(WRITE_ITEMS))])
write_lists = PythonOperator(
    task_id="write-lists",
    python_callable=check_lists,
    op_args=["write", 3, {"result": "str", "f": "file"}],
)
write >> write_lists
all__needs = PythonOperator(
    task_id="all-needs",
    python_callable=open_gate,
    op_args=[[["completion", "write", ["write-lists"]]]],
    trigger_rule="all_done",
)
all_ = KubernetesPodOperator(
    task_id="all",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_INPUT_files" && ls && cat *'],
        before=[
            [
                "each",
                "file",
                "files",
                '{{ lines(first_of(if_started(ti, "write", gathered(ti, "write", "f", 3)), "[]")) }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
    pre_execute=run_within("all-needs"),
)
write_lists >> all__needs
all__needs >> all_
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
all_ >> run_status
wait_for_all(dag)
