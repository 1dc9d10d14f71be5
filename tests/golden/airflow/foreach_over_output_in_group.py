def work_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "outer": gathered(ti, "work.outer", "result", "work.outer-items", kind="int"),
        "inner": gathered(ti, "work.inner", "result", "work.inner-items", kind="int"),
    }


with DAG(
    dag_id="foreach-over-output-in-group",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "to_text": to_text, "output": output},
): ...
list_ = KubernetesPodOperator(
    task_id="list",
    **process(["sh", "-c", "echo '[1, 2]'"], outputs=["result=-"]),
)
with TaskGroup("work") as work:
    more = KubernetesPodOperator(
        task_id="more",
        **process(["sh", "-c", "echo '[5, 6]'"], outputs=["result=-"]),
    )
    outer_items = PythonOperator(
        task_id="outer-items",
        python_callable=make_rows,
        op_kwargs={"lists": {"item": '{{ ti.xcom_pull("list")["result"] }}'}},
    )
    # What is expanded is a label; each task reads its item by its map index.
    outer = KubernetesPodOperator.partial(
        task_id="outer",
        **process(
            [
                "sh",
                "-c",
                "echo $$(($$1 + 1))",
                "sh",
                '{{ to_text(ti.xcom_pull("work.outer-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    ).expand(labels=outer_items.output)
    outer_lists = PythonOperator(
        task_id="outer-lists",
        python_callable=check_lists,
        op_args=["work.outer", "work.outer-items", {"result": "int"}],
    )
    outer >> outer_lists
    inner_items = PythonOperator(
        task_id="inner-items",
        python_callable=make_rows,
        op_kwargs={"lists": {"item": '{{ output(ti, "work.more") }}'}},
    )
    # What is expanded is a label; each task reads its item by its map index.
    inner = KubernetesPodOperator.partial(
        task_id="inner",
        **process(
            [
                "sh",
                "-c",
                "echo $$(($$1 + 1))",
                "sh",
                '{{ to_text(ti.xcom_pull("work.inner-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    ).expand(labels=inner_items.output)
    inner_lists = PythonOperator(
        task_id="inner-lists",
        python_callable=check_lists,
        op_args=["work.inner", "work.inner-items", {"result": "int"}],
    )
    inner >> inner_lists
    more >> inner_items
    work_end = PythonOperator(task_id="end", python_callable=work_outputs)
    [outer_lists, inner_lists] >> work_end
list_ >> work
end = KubernetesPodOperator(
    task_id="end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 $2"',
            "sh",
            '{{ output(ti, "work.end", "outer") | replace("$", "$$") }}',
            '{{ output(ti, "work.end", "inner") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
work >> end
