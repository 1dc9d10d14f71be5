ARGS = """\
two
lines

and more
"""
ENV = """\
import json, os
names = sorted(name for name in os.environ if name.startswith("TEXT_"))
print(json.dumps([os.environ[name] for name in names]))
"""
INPUTS = """\
import json, os
names = sorted(name for name in os.environ if name.startswith("COULER_INPUT_"))
print(json.dumps([os.environ[name] for name in names]))
"""
SCRIPT = r"""import json
print(json.dumps(['$$$$', '$$(HOME)', '$$$$(HOME) $$$$$$(X)', '$${HOME} $$HOME `id` $$((1+1))', 'it\'s "quoted" \\ \\n \\\\', 'two\nlines\n\nand more\n', '\ttab and trailing blank ', ' leading', '', '-n', '--', '#!/no', 'naïve ümläut 漢字 😀 \u200b \u2028', '%s %% {0} {x}', 'null', 'true', '1e3', '0x10', '- yes: [no, *a, &b] # c', '\x01\x7f']))
"""
ITEMS_ITEMS = [
    {"item": "$$"},
    {"item": "$(HOME)"},
    {"item": "$$(HOME) $$$(X)"},
    {"item": "${HOME} $HOME `id` $((1+1))"},
    {"item": 'it\'s "quoted" \\ \\n \\\\'},
    {"item": "two\nlines\n\nand more\n"},
    {"item": "\ttab and trailing blank "},
    {"item": " leading"},
    {"item": ""},
    {"item": "-n"},
    {"item": "--"},
    {"item": "#!/no"},
    {"item": "naïve ümläut 漢字 😀 \u200b \u2028"},
    {"item": "%s %% {0} {x}"},
    {"item": "null"},
    {"item": "true"},
    {"item": "1e3"},
    {"item": "0x10"},
    {"item": "- yes: [no, *a, &b] # c"},
    {"item": "\x01\x7f"},
]


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {"args": typed(ti.xcom_pull("args")["result"], "list")}


with DAG(
    dag_id="hostile-text",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "python:3.12-slim",
    },
    params={"p": Param("$(HOME) $$", type="string")},
    user_defined_macros={"PROCESS": PROCESS, "ITEMS_ITEMS": ITEMS_ITEMS, "to_text": to_text},
): ...
args = KubernetesPodOperator(
    task_id="args",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            "$$$$",
            "$$(HOME)",
            "$$$$(HOME) $$$$$$(X)",
            "$${HOME} $$HOME `id` $$((1+1))",
            'it\'s "quoted" \\ \\n \\\\',
            literal(ARGS),
            "\ttab and trailing blank ",
            " leading",
            "",
            "-n",
            "--",
            "#!/no",
            "naïve ümläut 漢字 😀 \u200b \u2028",
            "%s %% {0} {x}",
            "null",
            "true",
            "1e3",
            "0x10",
            "- yes: [no, *a, &b] # c",
            "\x01\x7f",
        ],
        outputs=["result=-"],
    ),
)
env = KubernetesPodOperator(
    task_id="env",
    **process(["python"], outputs=["result=-"]),
    env_vars={
        "TEXT_00": "$$$$",
        "TEXT_01": "$$(HOME)",
        "TEXT_02": "$$$$(HOME) $$$$$$(X)",
        "TEXT_03": "$${HOME} $$HOME `id` $$((1+1))",
        "TEXT_04": 'it\'s "quoted" \\ \\n \\\\',
        "TEXT_05": literal(ARGS),
        "TEXT_06": "\ttab and trailing blank ",
        "TEXT_07": " leading",
        "TEXT_08": "",
        "TEXT_09": "-n",
        "TEXT_10": "--",
        "TEXT_11": "#!/no",
        "TEXT_12": "naïve ümläut 漢字 😀 \u200b \u2028",
        "TEXT_13": "%s %% {0} {x}",
        "TEXT_14": "null",
        "TEXT_15": "true",
        "TEXT_16": "1e3",
        "TEXT_17": "0x10",
        "TEXT_18": "- yes: [no, *a, &b] # c",
        "TEXT_19": "\x01\x7f",
        "COULER_SCRIPT": literal(ENV),
    },
)
inputs = KubernetesPodOperator(
    task_id="inputs",
    **process(["python"], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_t00": "$$$$",
        "COULER_INPUT_t01": "$$(HOME)",
        "COULER_INPUT_t02": "$$$$(HOME) $$$$$$(X)",
        "COULER_INPUT_t03": "$${HOME} $$HOME `id` $$((1+1))",
        "COULER_INPUT_t04": 'it\'s "quoted" \\ \\n \\\\',
        "COULER_INPUT_t05": literal("two\nlines\n\nand more\n"),
        "COULER_INPUT_t06": "\ttab and trailing blank ",
        "COULER_INPUT_t07": " leading",
        "COULER_INPUT_t08": "",
        "COULER_INPUT_t09": "-n",
        "COULER_INPUT_t10": "--",
        "COULER_INPUT_t11": "#!/no",
        "COULER_INPUT_t12": "naïve ümläut 漢字 😀 \u200b \u2028",
        "COULER_INPUT_t13": "%s %% {0} {x}",
        "COULER_INPUT_t14": "null",
        "COULER_INPUT_t15": "true",
        "COULER_INPUT_t16": "1e3",
        "COULER_INPUT_t17": "0x10",
        "COULER_INPUT_t18": "- yes: [no, *a, &b] # c",
        "COULER_INPUT_t19": "\x01\x7f",
        "COULER_SCRIPT": literal(INPUTS),
    },
)
script = KubernetesPodOperator(
    task_id="script",
    **process(["python"], outputs=["result=-"]),
    env_vars={"COULER_SCRIPT": literal(SCRIPT)},
)
# What is expanded is a label; each task reads its item by its map index.
items = KubernetesPodOperator.partial(
    task_id="items",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            '{{ ITEMS_ITEMS[ti.map_index]["item"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(ITEMS_ITEMS))])
items_lists = PythonOperator(
    task_id="items-lists",
    python_callable=check_lists,
    op_args=["items", 20, {"result": "list"}],
)
items >> items_lists
later_items = PythonOperator(
    task_id="later-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("args")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
later = KubernetesPodOperator.partial(
    task_id="later",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            '{{ to_text(ti.xcom_pull("later-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=later_items.output)
later_lists = PythonOperator(
    task_id="later-lists",
    python_callable=check_lists,
    op_args=["later", "later-items", {"result": "list"}],
)
later >> later_lists
args >> later_items
whole_2 = KubernetesPodOperator(
    task_id="whole",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            '{{ ti.xcom_pull("args")["result"] | replace("$", "$$") }}',
            '{{ params["p"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
args >> whole_2
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
[env, inputs, script, items_lists, later_lists, whole_2] >> run_outputs
