EACH_ITEMS = [{"item": "a"}, {"item": "b"}]
LEAVES = ["calm", "inside.a", "after"]


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "text": output(ti, "inside.a"),
        "after": output(ti, "after"),
        "list": ti.xcom_pull("list")["result"],
    }


with DAG(
    dag_id="parts-with-runs",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"title": Param("a title", type="string")},
    user_defined_macros={
        "FILES": FILES,
        "PROCESS": PROCESS,
        "place": place,
        "EACH_ITEMS": EACH_ITEMS,
        "gathered": gathered,
        "output": output,
        "first_of": first_of,
    },
) as dag: ...
with TaskGroup("first", prefix_group_id=False):
    make = KubernetesPodOperator(
        task_id="make",
        **process_with_files(
            [
                "sh",
                "-c",
                'echo "$1: $2" > "$COULER_WORK/note"; echo "$3"',
                "sh",
                '{{ params["title"] | replace("$", "$$") }}',
                'a "b" $$(HOME) $$$$ \\',
                '{{ ti.run_id | replace("$", "$$") }}',
            ],
            after=[["keep", "file", "note", "note"]],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={"COULER_WORK": "/tmp/couler"},
    )
    # What is expanded is a label; each task reads its item by its map index.
    each = KubernetesPodOperator.partial(
        task_id="each",
        **process(
            ["sh", "-c", 'echo "($1)"', "sh", '{{ EACH_ITEMS[ti.map_index]["item"] }}'],
            outputs=["result=-"],
        ),
    ).expand(labels=[{"couler-item": str(index)} for index in range(len(EACH_ITEMS))])
    each_lists = PythonOperator(
        task_id="each-lists",
        python_callable=check_lists,
        op_args=["each", 2, {"result": "str"}],
    )
    each >> each_lists
    check = KubernetesPodOperator(
        task_id="check",
        **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
    )
with TaskGroup("second", prefix_group_id=False):
    read = KubernetesPodOperator(
        task_id="read",
        **process_with_files(
            [
                "sh",
                "-c",
                'cat "$COULER_INPUT_note"; test "$1" = "$2" && echo same',
                "sh",
                '{{ ti.xcom_pull("make")["result"] | replace("$", "$$") }}',
                '{{ ti.run_id | replace("$", "$$") }}',
            ],
            before=[["take", "file", "inputs/note", '{{ ti.xcom_pull("make")["note"] }}']],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_note": "/tmp/couler/inputs/note"},
    )
    make >> read
    needs_check = KubernetesPodOperator(
        task_id="needs-check",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
    )
    check >> needs_check
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
        op_args=[[["failure", "make", ["make"]]]],
        trigger_rule="all_done",
    )
    calm = KubernetesPodOperator(
        task_id="calm",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
        pre_execute=run_within("calm-needs"),
    )
    make >> calm_needs
    calm_needs >> calm
alone = KubernetesPodOperator(
    task_id="alone",
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
each_lists >> alone
with TaskGroup("third", prefix_group_id=False):
    with TaskGroup("inner", prefix_group_id=False):
        list_ = KubernetesPodOperator(
            task_id="list",
            **process(
                [
                    "sh",
                    "-c",
                    'echo "$1"',
                    "sh",
                    '{{ ti.xcom_pull("alone")["result"] | replace("$", "$$") }}',
                ],
                outputs=["result=-"],
            ),
        )
        alone >> list_
    with TaskGroup("other", prefix_group_id=False):
        with TaskGroup("inside") as inside:
            a = KubernetesPodOperator(
                task_id="a",
                **process(
                    [
                        "sh",
                        "-c",
                        'echo "$1"',
                        "sh",
                        '{{ ti.xcom_pull("read")["result"] | replace("$", "$$") }}',
                    ],
                    outputs=["result=-"],
                ),
            )
        read >> inside
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
        [list_, alarm, after_needs] >> after
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
[calm, inside, after] >> run_status
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
run_status >> run_outputs
wait_for_all(dag)
