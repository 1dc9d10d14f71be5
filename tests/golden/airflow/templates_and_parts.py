with DAG(
    dag_id="templates-and-parts",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={
        "n": Param(
            2.5,
            type=["number", "string"],
            pattern="^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$",
        ),
    },
    user_defined_macros={
        "PROCESS": PROCESS,
        "part_of": part_of,
        "plain": plain,
        "encode": encode,
        "joined": joined,
        "to_text": to_text,
    },
): ...
report = KubernetesPodOperator(
    task_id="report",
    **process(
        ["sh", "-c", 'echo \'{"scores": [3, {"x y": 0.5}], "name": "a b"}\''],
        outputs=["result=-"],
    ),
)
as_text = KubernetesPodOperator(
    task_id="as-text",
    **process(["sh", "-c", "echo '[[1, 2], \"three\"]'"], outputs=["result=-"]),
)
parts_2 = KubernetesPodOperator(
    task_id="parts",
    **process(
        [
            "sh",
            "-c",
            'echo "$1|$2|$3|$4"',
            "sh",
            '{{ plain(part_of(ti.xcom_pull("report")["result"], "scores", 1, "x y")) | replace("$", "$$") }}',
            '{{ plain(part_of(ti.xcom_pull("report")["result"], "name")) | replace("$", "$$") }}',
            '{{ plain(part_of(ti.xcom_pull("report")["result"], "scores")) | replace("$", "$$") }}',
            '{{ plain(part_of(ti.xcom_pull("as-text")["result"], 0, 1)) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[report, as_text] >> parts_2
joined_2 = KubernetesPodOperator(
    task_id="joined",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ joined("n=", encode(params["n"]), ", name=", plain(part_of(ti.xcom_pull("report")["result"], "name")), ", ", plain(part_of(ti.xcom_pull("as-text")["result"], 0))) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[report, as_text] >> joined_2
each_items = PythonOperator(
    task_id="each-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ plain(part_of(ti.xcom_pull("as-text")["result"], 0)) }}'}},
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
            '{{ joined(encode(params["n"]), "/", to_text(ti.xcom_pull("each-items", key="rows")[ti.map_index]["item"])) | replace("$", "$$") }}',
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
as_text >> each_items
