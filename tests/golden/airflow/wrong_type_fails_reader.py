LEAVES = ["handle"]


def when_decodes(ti: Any, params: Any) -> bool:
    return decode(output(ti, "makes"), "int") > 1


with DAG(
    dag_id="wrong-type-fails-reader",
    schedule=None,
    catchup=False,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "output": output},
) as dag: ...
makes = KubernetesPodOperator(
    task_id="makes",
    **process(["sh", "-c", "echo many"], outputs=["result=-"]),
)
passes = KubernetesPodOperator(
    task_id="passes",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ output(ti, "makes") }}'],
        outputs=["result=-"],
    ),
)
makes >> passes
decodes = KubernetesPodOperator(
    task_id="decodes",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_if(when_decodes),
)
makes >> decodes
handle_needs = PythonOperator(
    task_id="handle-needs",
    python_callable=open_gate,
    op_args=[[["failure", "decodes", ["decodes"]]]],
    trigger_rule="all_done",
)
handle = KubernetesPodOperator(
    task_id="handle",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("handle-needs"),
)
decodes >> handle_needs
[passes, handle_needs] >> handle
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
handle >> run_status
wait_for_all(dag)
