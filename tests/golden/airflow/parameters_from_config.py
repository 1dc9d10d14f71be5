def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "size": typed(output(ti, "run-parameters", "size"), "int"),
        "all": ti.xcom_pull("all")["result"],
    }


with DAG(
    dag_id="parameters-from-config",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={
        "region": Param(None, type=["string", "null"]),
        "given": Param(None, type=["string", "null"]),
        "absent": Param(None, type=["string", "null"]),
        "size": Param(None, type=["integer", "string", "null"], pattern="^-?(0|[1-9][0-9]*)$"),
        "names": Param(None, type=["array", "null"]),
    },
    user_defined_macros={
        "output": output,
        "PROCESS": PROCESS,
        "to_text": to_text,
        "numbers": numbers,
        "gathered": gathered,
    },
): ...
run_parameters = PythonOperator(
    task_id="run-parameters",
    python_callable=config_parameters,
    op_args=[
        {
            "region": {"config_map": "site", "key": "region", "type": "str"},
            "given": {"config_map": "site", "key": "no", "type": "str"},
            "absent": {"config_map": "site", "key": "absent", "type": "str", "default": "none"},
            "size": {"config_map": "site", "key": "size", "type": "int", "default": "1"},
            "names": {"config_map": "site", "key": "names", "type": "list"},
        },
    ],
)
show = KubernetesPodOperator(
    task_id="show",
    **process(
        [
            "sh",
            "-c",
            'echo "$1/$2/$3/$4"',
            "sh",
            '{{ output(ti, "run-parameters", "region") | replace("$", "$$") }}',
            '{{ output(ti, "run-parameters", "given") | replace("$", "$$") }}',
            '{{ output(ti, "run-parameters", "absent") | replace("$", "$$") }}',
            '{{ output(ti, "run-parameters", "size") }}',
        ],
        outputs=["result=-"],
    ),
)
run_parameters >> show
each_items = PythonOperator(
    task_id="each-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ output(ti, "run-parameters", "names") }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ to_text(ti.xcom_pull("each-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=each_items.output)
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", "each-items", {"result": "str"}],
)
each >> each_lists
run_parameters >> each_items
count_items = PythonOperator(
    task_id="count-items",
    python_callable=make_rows,
    op_kwargs={
        "lists": {"item": '{{ numbers("1", end=output(ti, "run-parameters", "size")) }}'},
    },
)
# What is expanded is a label; each task reads its item by its map index.
count = KubernetesPodOperator.partial(
    task_id="count",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ to_text(ti.xcom_pull("count-items", key="rows")[ti.map_index]["item"]) }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=count_items.output)
count_lists = PythonOperator(
    task_id="count-lists",
    python_callable=check_lists,
    op_args=["count", "count-items", {"result": "str"}],
)
count >> count_lists
run_parameters >> count_items
all_ = KubernetesPodOperator(
    task_id="all",
    **process(
        [
            "sh",
            "-c",
            'echo "$1$2"',
            "sh",
            '{{ gathered(ti, "each", "result", "each-items") | replace("$", "$$") }}',
            '{{ gathered(ti, "count", "result", "count-items") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[each_lists, count_lists] >> all_
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
[show, all_] >> run_outputs
