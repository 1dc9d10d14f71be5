LEAVES = ["handle"]


def when_decodes(ti: Any, params: Any) -> bool:
    return decode(ti.xcom_pull("makes")["result"], "int") > 1


with DAG(
    dag_id="wrong-type-fails-reader",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS},
) as dag: ...
makes = KubernetesPodOperator(
    task_id="makes",
    **process(["sh", "-c", "echo many"], outputs=["result=-"]),
)
passes = KubernetesPodOperator(
    task_id="passes",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ ti.xcom_pull("makes")["result"] }}'],
        outputs=["result=-"],
    ),
)
makes >> passes
decodes = KubernetesPodOperator(
    task_id="decodes",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_decodes),
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
