with DAG(
    dag_id="foreach-over-parameter",
    params={"who": Param([{"word": "hi", "to": ["you"]}], type="array")},
    user_defined_macros={
        "encode": encode,
        "to_text": to_text,
        "part_of": part_of,
        "plain": plain,
        "PROCESS": PROCESS,
    },
): ...
greet_items = PythonOperator(
    task_id="greet-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ encode(params["who"]) }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
greet = KubernetesPodOperator.partial(
    task_id="greet",
    image="busybox:1.36",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 $2"',
            "sh",
            '{{ plain(part_of(to_text(ti.xcom_pull("greet-items", key="rows")[ti.map_index]["item"]), "word")) | replace("$", "$$") }}',
            '{{ plain(part_of(to_text(ti.xcom_pull("greet-items", key="rows")[ti.map_index]["item"]), "to", 0)) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=greet_items.output)
greet_lists = PythonOperator(
    task_id="greet-lists",
    python_callable=check_lists,
    op_args=["greet", "greet-items", {"result": "str"}],
)
greet >> greet_lists
