OFTEN_ITEMS = [{"item": 1}, {"item": 2}]
LEAVES = [
    "of-none",
    "of-none-made",
    "of-some",
    "last",
    "all",
    "inside.of-none",
    "inside.deeper.of-some",
]

with DAG(
    dag_id="files-of-no-items",
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
        "to_text": to_text,
        "FILES": FILES,
        "place": place,
        "gathered": gathered,
        "lines": lines,
        "output": output,
        "first_of": first_of,
    },
) as dag: ...
nothing = KubernetesPodOperator(
    task_id="nothing",
    **process(["sh", "-c", "echo '[]'"], outputs=["result=-"]),
)
letters = KubernetesPodOperator(
    task_id="letters",
    **process(["sh", "-c", 'echo \'["a", "b"]\''], outputs=["result=-"]),
)
with TaskGroup("none") as none:
    none_items = PythonOperator(
        task_id="items",
        python_callable=make_rows,
        op_kwargs={"lists": {"item": "[]"}},
    )
none_lists = PythonOperator(
    task_id="none-lists",
    python_callable=check_lists,
    op_args=["none.item_*", "none.items", {"result": "str", "f": "file"}],
)
none >> none_lists
none_made_items = PythonOperator(
    task_id="none-made-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("nothing")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
none_made = KubernetesPodOperator.partial(
    task_id="none-made",
    **process_with_files(
        [
            "sh",
            "-c",
            'echo "$1" > "$COULER_WORK/f"',
            "sh",
            '{{ to_text(ti.xcom_pull("none-made-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
).expand(labels=none_made_items.output)
none_made_lists = PythonOperator(
    task_id="none-made-lists",
    python_callable=check_lists,
    op_args=["none-made", "none-made-items", {"result": "str", "f": "file"}],
)
none_made >> none_made_lists
nothing >> none_made_items
some_items = PythonOperator(
    task_id="some-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("letters")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
some = KubernetesPodOperator.partial(
    task_id="some",
    **process_with_files(
        [
            "sh",
            "-c",
            'echo "$1" > "$COULER_WORK/f"',
            "sh",
            '{{ to_text(ti.xcom_pull("some-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
).expand(labels=some_items.output)
some_lists = PythonOperator(
    task_id="some-lists",
    python_callable=check_lists,
    op_args=["some", "some-items", {"result": "str", "f": "file"}],
)
some >> some_lists
letters >> some_items
of_none = KubernetesPodOperator(
    task_id="of-none",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "'],
        before=[
            [
                "each",
                "file",
                "files",
                '{{ lines(gathered(ti, "none.item_*", "f", "none.items")) }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
)
none_lists >> of_none
of_none_made = KubernetesPodOperator(
    task_id="of-none-made",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "'],
        before=[
            [
                "each",
                "file",
                "files",
                '{{ lines(gathered(ti, "none-made", "f", "none-made-items")) }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
)
none_made_lists >> of_none_made
of_some = KubernetesPodOperator(
    task_id="of-some",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "'],
        before=[
            ["each", "file", "files", '{{ lines(gathered(ti, "some", "f", "some-items")) }}'],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
)
some_lists >> of_some
last = KubernetesPodOperator(
    task_id="last",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "'],
        before=[
            [
                "each",
                "file",
                "files",
                '{{ lines(gathered(ti, "none-made", "f", "none-made-items")) }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
)
none_made_lists >> last
# What is expanded is a label; each task reads its item by its map index.
often = KubernetesPodOperator.partial(
    task_id="often",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "'],
        before=[
            [
                "each",
                "file",
                "files",
                '{{ lines(gathered(ti, "none-made", "f", "none-made-items")) }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
).expand(labels=[{"couler-item": str(index)} for index in range(len(OFTEN_ITEMS))])
often_lists = PythonOperator(
    task_id="often-lists",
    python_callable=check_lists,
    op_args=["often", 2, {"result": "str"}],
)
often >> often_lists
none_made_lists >> often
all_ = KubernetesPodOperator(
    task_id="all",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ gathered(ti, "often", "result", 2) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
often_lists >> all_
with TaskGroup("inside") as inside:
    inside_of_none = KubernetesPodOperator(
        task_id="of-none",
        **process_with_files(
            ["sh", "-c", 'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "'],
            before=[
                [
                    "each",
                    "file",
                    "files",
                    '{{ lines(gathered(ti, "none-made", "f", "none-made-items")) }}',
                ],
            ],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
    )
    with TaskGroup("deeper") as deeper:
        inside_deeper_of_some = KubernetesPodOperator(
            task_id="of-some",
            **process_with_files(
                ["sh", "-c", 'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "'],
                before=[
                    [
                        "each",
                        "file",
                        "files",
                        '{{ lines(gathered(ti, "some", "f", "some-items")) }}',
                    ],
                ],
                outputs=["result=-"],
                claim=FILES_CLAIM,
            ),
            env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
        )
[none_made_lists, some_lists] >> inside
with TaskGroup("exit-tell") as exit_tell:
    exit_tell_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
    )
    say = KubernetesPodOperator(
        task_id="say",
        **process(
            [
                "sh",
                "-c",
                'echo "$1"',
                "sh",
                '{{ first_of(output(ti, "last"), "?") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    )
    exit_tell_when >> say
[of_none, of_none_made, of_some, last, all_, inside] >> exit_tell
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[[*LEAVES, "exit-tell.say"]],
    trigger_rule="all_done",
)
[of_none, of_none_made, of_some, last, all_, inside, exit_tell] >> run_status
wait_for_all(dag)
