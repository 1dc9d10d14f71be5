EACH_ITEMS = [{"item": "a"}, {"item": "b"}]
LEAVES = ["either", "large", "list", "after", "handles"]


def when_large(ti: Any, params: Any) -> bool:
    return decode(ti.xcom_pull("train")["result"], "int") > 100


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "text": ti.xcom_pull("alone")["result"],
        "large": first_of(output(ti, "large"), "small"),
        "after": output(ti, "after"),
    }


with DAG(
    dag_id="parts",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "PROCESS": PROCESS,
        "EACH_ITEMS": EACH_ITEMS,
        "gathered": gathered,
        "output": output,
        "first_of": first_of,
    },
) as dag: ...
with TaskGroup("first", prefix_group_id=False):
    load = KubernetesPodOperator(
        task_id="load",
        **process(["sh", "-c", "echo 3"], outputs=["result=-"]),
    )
    check = KubernetesPodOperator(
        task_id="check",
        **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
    )
    # What is expanded is a label; each task reads its item by its map index.
    each = KubernetesPodOperator.partial(
        task_id="each",
        **process(
            ["sh", "-c", 'echo "<$1>"', "sh", '{{ EACH_ITEMS[ti.map_index]["item"] }}'],
            outputs=["result=-"],
        ),
    ).expand(labels=[{"couler-item": str(index)} for index in range(len(EACH_ITEMS))])
    each_lists = PythonOperator(
        task_id="each-lists",
        python_callable=check_lists,
        op_args=["each", 2, {"result": "str"}],
    )
    each >> each_lists
with TaskGroup("second", prefix_group_id=False):
    needs_check = KubernetesPodOperator(
        task_id="needs-check",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
    )
    check >> needs_check
    train = KubernetesPodOperator(
        task_id="train",
        **process(["sh", "-c", "echo $$((COULER_INPUT_n * 2))"], outputs=["result=-"]),
        env_vars={
            "COULER_WORK": "/tmp/couler",
            "COULER_INPUT_n": '{{ ti.xcom_pull("load")["result"] }}',
        },
    )
    load >> train
    alarm_needs = PythonOperator(
        task_id="alarm-needs",
        python_callable=open_gate,
        op_args=[[["failure", "check", ["check"]]]],
        trigger_rule="all_done",
    )
    alarm = KubernetesPodOperator(
        task_id="alarm",
        **process(["sh", "-c", "echo sent"], outputs=["result=-"]),
        pre_execute=run_within("alarm-needs"),
    )
    check >> alarm_needs
    alarm_needs >> alarm
    calm_needs = PythonOperator(
        task_id="calm-needs",
        python_callable=open_gate,
        op_args=[[["failure", "load", ["load"]]]],
        trigger_rule="all_done",
    )
    calm = KubernetesPodOperator(
        task_id="calm",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
        pre_execute=run_within("calm-needs"),
    )
    load >> calm_needs
    calm_needs >> calm
    either_needs = PythonOperator(
        task_id="either-needs",
        python_callable=open_gate,
        op_args=[[["success", "check", ["check"]], ["success", "load", ["load"]]]],
        trigger_rule="all_done",
    )
    either = KubernetesPodOperator(
        task_id="either",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
        pre_execute=run_within("either-needs"),
    )
    [check, load] >> either_needs
    either_needs >> either
with TaskGroup("last", prefix_group_id=False):
    large = KubernetesPodOperator(
        task_id="large",
        **process(["sh", "-c", "echo large"], outputs=["result=-"]),
        pre_execute=partial(skip_unless, when_large),
    )
    train >> large
    list_ = KubernetesPodOperator(
        task_id="list",
        **process(
            [
                "sh",
                "-c",
                'echo "$1"',
                "sh",
                '{{ gathered(ti, "each", "result", 2) | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    )
    each_lists >> list_
    after_needs = PythonOperator(
        task_id="after-needs",
        python_callable=open_gate,
        op_args=[
            [["completion", "check", ["check"]]],
            [["completion", "needs-check", ["needs-check"]]],
        ],
        trigger_rule="all_done",
    )
    after = KubernetesPodOperator(
        task_id="after",
        **process(
            [
                "sh",
                "-c",
                'echo "$1 $2"',
                "sh",
                '{{ first_of(output(ti, "check"), "none") | replace("$", "$$") }}',
                '{{ first_of(output(ti, "alarm"), "none") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
        pre_execute=run_within("after-needs"),
    )
    [check, needs_check] >> after_needs
    [calm, alarm, after_needs] >> after
with TaskGroup("inside") as inside:
    a = KubernetesPodOperator(
        task_id="a",
        **process(
            ["sh", "-c", 'echo "$1"', "sh", '{{ ti.xcom_pull("train")["result"] }}'],
            outputs=["result=-"],
        ),
    )
    b = KubernetesPodOperator(
        task_id="b",
        **process(
            [
                "sh",
                "-c",
                'echo "$1$1"',
                "sh",
                '{{ output(ti, "inside.a") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    )
    a >> b
train >> inside
alone = KubernetesPodOperator(
    task_id="alone",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ output(ti, "inside.b") | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
inside >> alone
handles_needs = PythonOperator(
    task_id="handles-needs",
    python_callable=open_gate,
    op_args=[[["completion", "needs-check", ["needs-check"]]]],
    trigger_rule="all_done",
)
handles = KubernetesPodOperator(
    task_id="handles",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("handles-needs"),
)
needs_check >> handles_needs
[alone, handles_needs] >> handles
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
[either, large, list_, after, handles] >> run_status
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
run_status >> run_outputs
wait_for_all(dag)
