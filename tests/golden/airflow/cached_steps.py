EACH_ITEMS = [{"item": "a"}, {"item": "b"}]

with DAG(
    dag_id="cached-steps",
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
        "CACHE": CACHE,
        "EACH_ITEMS": EACH_ITEMS,
        "encode": encode,
        "sha256": sha256,
        "gathered": gathered,
        "FILES": FILES,
        "place_of_try": place_of_try,
    },
): ...
load = KubernetesPodOperator(
    task_id="load",
    **with_cache(
        process(["sh", "-c", "echo 3"], outputs=["result=-"]),
        "cache/numbers",
        [
            "bb20916b7eaf5054380466412705597b1a49bfa8543151c701db1351acdb1e40",
            "e83546777fc5a3065f751e429bc069a8f4d04efd7fa6da0c871a5a46f2cf838a",
            "3bfc269594ef649228e9a74bab00f042efc91d5acc6fbee31a382e80d42388fe",
        ],
        max_age_s=3600,
        claim=FILES_CLAIM,
    ),
)
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    **with_cache(
        process(
            [
                "sh",
                "-c",
                'echo "$1$2"',
                "sh",
                '{{ EACH_ITEMS[ti.map_index]["item"] }}',
                '{{ ti.xcom_pull("load")["result"] | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
        "cache/cached-steps",
        [
            "022033d4874eb8937ff5651d17d2829c9cccc67c68098b059af235c49340732f",
            "ff7f506d304810757db7858b62c9f9521d38b868766ca9c2b1b98843d0401604",
            "89c4ec9f6b3f1086b158d8ef03dfe8155e6f79d9e66434b8f9b3432fe8720e50",
            '{{ sha256(encode(EACH_ITEMS[ti.map_index]["item"])) }}',
            '{{ sha256(ti.xcom_pull("load")["result"]) }}',
        ],
        claim=FILES_CLAIM,
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(EACH_ITEMS))])
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", 2, {"result": "str"}],
)
each >> each_lists
load >> each
make = KubernetesPodOperator(
    task_id="make",
    **with_cache(
        process_with_files(
            [
                "sh",
                "-c",
                'echo "$1" > "$COULER_WORK/f"',
                "sh",
                '{{ gathered(ti, "each", "result", 2) | replace("$", "$$") }}',
            ],
            after=[["keep", "file", "f", "f", '{{ place_of_try(ti, "f") }}']],
            claim=FILES_CLAIM,
        ),
        "cache/cached-steps",
        [
            "c4d80e8cb58ea01e66ba038d2bfe23f4da3349ff6d9e34ecd3941bc5845bc062",
            "1aed481419440b65a4bc05b484fe8eaab54041a99c7e58be2f8ea898b41d60cf",
            "89c4ec9f6b3f1086b158d8ef03dfe8155e6f79d9e66434b8f9b3432fe8720e50",
            '{{ sha256(gathered(ti, "each", "result", 2)) }}',
        ],
        files=["file:f"],
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
each_lists >> make
with TaskGroup("work") as work:
    read = KubernetesPodOperator(
        task_id="read",
        **with_cache(
            process_with_files(
                ["sh", "-c", 'cat "$COULER_WORK/f"'],
                before=[["take", "file", "f", '{{ ti.xcom_pull("make")["f"] }}']],
                outputs=["result=-"],
                claim=FILES_CLAIM,
            ),
            "cache/cached-steps",
            [
                "68a81002b70e3113371df036ef3e876dfd3ad176c90c908623172867c01dafe1",
                "34547a41b844ed039e123b60c0d1eda99072016799327838e0c56680455887a1",
                '{{ sha256(ti.xcom_pull("make")["f"]) }}',
            ],
            max_age_s=60,
        ),
        env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/f"},
    )
make >> work
