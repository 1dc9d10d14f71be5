WORK_ITEMS = [{"item": 1}, {"item": 2}, {"item": 3}]
LEAVES = ["after", "handle"]

with DAG(
    dag_id="foreach-read-on-completion",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "WORK_ITEMS": WORK_ITEMS,
        "PROCESS": PROCESS,
        "gathered": gathered,
        "if_started": if_started,
        "first_of": first_of,
        "are_open": are_open,
    },
) as dag: ...
# What is expanded is a label; each task reads its item by its map index.
work = KubernetesPodOperator.partial(
    task_id="work",
    **process(
        [
            "sh",
            "-c",
            "test $$1 -ne 2 && echo $$(($$1 * 10))",
            "sh",
            '{{ WORK_ITEMS[ti.map_index]["item"] }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(WORK_ITEMS))])
work_lists = PythonOperator(
    task_id="work-lists",
    python_callable=check_lists,
    op_args=["work", 3, {"result": "int"}],
)
work >> work_lists
after_needs = PythonOperator(
    task_id="after-needs",
    python_callable=open_gate,
    op_args=[[["completion", "work", ["work-lists"]]]],
    trigger_rule="all_done",
)
after = KubernetesPodOperator(
    task_id="after",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ (first_of(if_started(ti, "work", gathered(ti, "work", "result", 3, kind="int")), "[]") if are_open(ti, "after-needs") else "") }}',
        ],
        outputs=["result=-"],
    ),
    pre_execute=run_within("after-needs"),
)
work_lists >> after_needs
after_needs >> after
handle_needs = PythonOperator(
    task_id="handle-needs",
    python_callable=open_gate,
    op_args=[[["failure", "work", ["work-lists"]]]],
    trigger_rule="all_done",
)
handle = KubernetesPodOperator(
    task_id="handle",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ (first_of(if_started(ti, "work", gathered(ti, "work", "result", 3, kind="int")), "[]") if are_open(ti, "handle-needs") else "") }}',
        ],
        outputs=["result=-"],
    ),
    pre_execute=run_within("handle-needs"),
)
work_lists >> handle_needs
handle_needs >> handle
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
[after, handle] >> run_status
wait_for_all(dag)
