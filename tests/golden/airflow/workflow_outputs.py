EACH_ITEMS = [{"item": "a"}, {"item": "b"}]


def when_off(ti: Any, params: Any) -> bool:
    return params["on"] in (True, "true")


with DAG(
    dag_id="workflow-outputs",
    params={"on": Param(False, type=["boolean", "string"], pattern="^(true|false)$")},
    user_defined_macros={
        "PROCESS": PROCESS,
        "EACH_ITEMS": EACH_ITEMS,
        "output": output,
        "gathered": gathered,
        "first_of": first_of,
        "part_of": part_of,
        "plain": plain,
        "text": text,
    },
): ...
n = KubernetesPodOperator(
    task_id="n",
    image="busybox:1.36",
    **process(["sh", "-c", "echo 3"], outputs=["result=-"]),
)
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    image="busybox:1.36",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ EACH_ITEMS[ti.map_index]["item"] }}'],
        outputs=["result=-"],
    ),
).expand(labels=labels(EACH_ITEMS))
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", 2, {"result": "str"}],
)
each >> each_lists
off = KubernetesPodOperator(
    task_id="off",
    image="busybox:1.36",
    **process(["sh", "-c", "echo on"], outputs=["result=-"]),
    pre_execute=run_if(when_off),
)
tree = KubernetesPodOperator(
    task_id="tree",
    image="busybox:1.36",
    **process(["sh", "-c", "echo '{\"a\": [0.5]}'"], outputs=["result=-"]),
)
run_outputs = PythonOperator(
    task_id="run-outputs",
    python_callable=typed_values,
    op_args=[
        {
            "n": '{{ output(ti, "n") }}',
            "each": '{{ gathered(ti, "each", "result", 2) }}',
            "off": '{{ first_of(output(ti, "off"), "was off") }}',
            "off-too": '{{ first_of(output(ti, "off"), "off too") }}',
            "part": '{{ plain(part_of(output(ti, "tree"), "a", 0)) }}',
            "on": '{{ text(params["on"]) }}',
        },
        {
            "n": "int",
            "each": "list",
            "off": "str",
            "off-too": "str",
            "part": "float",
            "on": "bool",
        },
    ],
)
[n, each_lists, off, tree] >> run_outputs
