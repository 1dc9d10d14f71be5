INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}


def when_yes(ti: Any, params: Any) -> bool:
    return int(params["n"]) == 1


def when_no(ti: Any, params: Any) -> bool:
    return int(params["n"]) == 2


with DAG(
    dag_id="when-on-foreach",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"n": Param(1, **INTEGER)},
    user_defined_macros={"PROCESS": PROCESS, "gathered": gathered, "first_of": first_of},
): ...
yes_items = PythonOperator(
    task_id="yes-items",
    python_callable=make_plain_rows,
    op_kwargs={"lists": {"item": '["a","b"]'}},
    pre_execute=partial(skip_unless, when_yes),
)
# What is expanded is a label; each task reads its item by its map index.
yes = KubernetesPodOperator.partial(
    task_id="yes",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ ti.xcom_pull("yes-items", key="rows")[ti.map_index]["item"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=yes_items.output)
yes_lists = PythonOperator(
    task_id="yes-lists",
    python_callable=check_lists,
    op_args=["yes", "yes-items", {"result": "str"}],
)
yes >> yes_lists
no_items = PythonOperator(
    task_id="no-items",
    python_callable=make_plain_rows,
    op_kwargs={"lists": {"item": '["a","b"]'}},
    pre_execute=partial(skip_unless, when_no),
)
# What is expanded is a label; each task reads its item by its map index.
no = KubernetesPodOperator.partial(
    task_id="no",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ ti.xcom_pull("no-items", key="rows")[ti.map_index]["item"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=no_items.output)
no_lists = PythonOperator(
    task_id="no-lists",
    python_callable=check_lists,
    op_args=["no", "no-items", {"result": "str"}],
)
no >> no_lists
end = KubernetesPodOperator(
    task_id="end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(gathered(ti, "no", "result", "no-items"), \'["none"]\') | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
no_lists >> end
