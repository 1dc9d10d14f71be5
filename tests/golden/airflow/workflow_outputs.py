EACH_ITEMS = [{"item": "a"}, {"item": "b"}]
INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}


def when_off(ti: Any, params: Any) -> bool:
    return params["on"] in (True, "true")


def when_far(ti: Any, params: Any) -> bool:
    return int(params["how-far"]) == 1


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "n": typed(ti.xcom_pull("n")["result"], "int"),
        "each": typed(gathered(ti, "each", "result", 2), "list"),
        "off": first_of(output(ti, "off"), "was off"),
        "off-too": first_of(output(ti, "off"), "off too"),
        "part": typed(plain(part_of(ti.xcom_pull("tree")["result"], "a", 0)), "float"),
        "on": typed(encode(params["on"]), "bool"),
        "far": typed(first_of(gathered(ti, "far", "result", "far-items"), "[]"), "list"),
    }


with DAG(
    dag_id="workflow-outputs",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={
        "on": Param(False, type=["boolean", "string"], pattern="^(true|false)$"),
        "how-far": Param(0, **INTEGER),
    },
    user_defined_macros={"PROCESS": PROCESS, "EACH_ITEMS": EACH_ITEMS},
): ...
n = KubernetesPodOperator(task_id="n", **process(["sh", "-c", "echo 3"], outputs=["result=-"]))
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ EACH_ITEMS[ti.map_index]["item"] }}'],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(EACH_ITEMS))])
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", 2, {"result": "str"}],
)
each >> each_lists
off = KubernetesPodOperator(
    task_id="off",
    **process(["sh", "-c", "echo on"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_off),
)
far_items = PythonOperator(
    task_id="far-items",
    python_callable=make_plain_rows,
    op_kwargs={"lists": {"item": '["a"]'}},
    pre_execute=partial(skip_unless, when_far),
)
# What is expanded is a label; each task reads its item by its map index.
far = KubernetesPodOperator.partial(
    task_id="far",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ ti.xcom_pull("far-items", key="rows")[ti.map_index]["item"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=far_items.output)
far_lists = PythonOperator(
    task_id="far-lists",
    python_callable=check_lists,
    op_args=["far", "far-items", {"result": "str"}],
)
far >> far_lists
tree = KubernetesPodOperator(
    task_id="tree",
    **process(["sh", "-c", "echo '{\"a\": [0.5]}'"], outputs=["result=-"]),
)
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
[n, each_lists, off, far_lists, tree] >> run_outputs
