EACH_ITEMS = [{"item": "a"}, {"item": "b"}]

with DAG(
    dag_id="cached-steps",
    user_defined_macros={
        "PROCESS": PROCESS,
        "CACHE": CACHE,
        "EACH_ITEMS": EACH_ITEMS,
        "output": output,
        "encode": encode,
        "sha256": sha256,
        "gathered": gathered,
        "FILES": FILES,
        "place_of_try": place_of_try,
    },
): ...
load = KubernetesPodOperator(
    task_id="load",
    image="busybox:1.36",
    **with_cache(
        process(["sh", "-c", "echo 3"], outputs=["result=-"]),
        "cache/numbers",
        [
            "52b16f08e776e2f9b1353f1c66f025848e28033e740f3b16f4ebd9a9a27689b7",
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
    image="busybox:1.36",
    **with_cache(
        process(
            [
                "sh",
                "-c",
                'echo "$1$2"',
                "sh",
                '{{ EACH_ITEMS[ti.map_index]["item"] }}',
                '{{ output(ti, "load") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
        "cache/cached-steps",
        [
            "e3b907a84683a0423d569d3f857579b8725b195774d4b3ba88989c977f3eb1e7",
            "ff7f506d304810757db7858b62c9f9521d38b868766ca9c2b1b98843d0401604",
            "89c4ec9f6b3f1086b158d8ef03dfe8155e6f79d9e66434b8f9b3432fe8720e50",
            '{{ sha256(encode(EACH_ITEMS[ti.map_index]["item"])) }}',
            '{{ sha256(output(ti, "load")) }}',
        ],
        claim=FILES_CLAIM,
    ),
).expand(labels=labels(EACH_ITEMS))
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", 2, {"result": "str"}],
)
each >> each_lists
load >> each
make = KubernetesPodOperator(
    task_id="make",
    image="busybox:1.36",
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
            "32c6e7eab626c3310249e3e820a2e680184e23b8d44a38edfd80520308160a77",
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
        image="busybox:1.36",
        **with_cache(
            process_with_files(
                ["sh", "-c", 'cat "$COULER_WORK/f"'],
                before=[["take", "file", "f", '{{ output(ti, "make", "f") }}']],
                outputs=["result=-"],
                claim=FILES_CLAIM,
            ),
            "cache/cached-steps",
            [
                "edd0368af107bf3d6f56b7213974aeb67da124e2fa586fccd3110f2b26c4661b",
                "34547a41b844ed039e123b60c0d1eda99072016799327838e0c56680455887a1",
                '{{ sha256(output(ti, "make", "f")) }}',
            ],
            max_age_s=60,
        ),
        env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/f"},
    )
make >> work
