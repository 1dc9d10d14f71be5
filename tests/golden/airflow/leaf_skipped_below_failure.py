LEAVES = ["unmet"]
INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}


def when_off(ti: Any, params: Any) -> bool:
    return int(params["n"]) == 2


with DAG(
    dag_id="leaf-skipped-below-failure",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"n": Param(1, **INTEGER)},
    user_defined_macros={"PROCESS": PROCESS},
) as dag: ...
bad = KubernetesPodOperator(
    task_id="bad",
    **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
)
off_needs = PythonOperator(
    task_id="off-needs",
    python_callable=open_gate,
    op_args=[[["completion", "bad", ["bad"]]]],
    trigger_rule="all_done",
)
off = KubernetesPodOperator(
    task_id="off",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("off-needs", condition=when_off),
)
bad >> off_needs
off_needs >> off
good = KubernetesPodOperator(
    task_id="good",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
unmet_needs = PythonOperator(
    task_id="unmet-needs",
    python_callable=open_gate,
    op_args=[[["failure", "good", ["good"]]], [["completion", "off", ["off"]]]],
    trigger_rule="all_done",
)
unmet = KubernetesPodOperator(
    task_id="unmet",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("unmet-needs"),
)
[good, off] >> unmet_needs
unmet_needs >> unmet
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
unmet >> run_status
wait_for_all(dag)
