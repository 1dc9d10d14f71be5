INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}

with DAG(
    dag_id="parameters",
    params={
        "text": Param(type="string"),
        "n": Param(1, **INTEGER),
        "x": Param(
            0.5,
            type=["number", "string"],
            pattern="^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$",
        ),
        "flag": Param(True, type="boolean", enum=[True, False]),
        "tree": Param({"a": [1]}, type="object"),
        "any": Param("d", enum=["d", 1]),
    },
    user_defined_macros={
        "encode": encode,
        "dump_json": dump_json,
        "plain": plain,
        "PROCESS": PROCESS,
    },
): ...
show = KubernetesPodOperator(
    task_id="show",
    image="busybox:1.36",
    **process(
        [
            "sh",
            "-c",
            'echo "$1|$2|$3|$4|$5|$6"',
            "sh",
            '{{ params["text"] | replace("$", "$$") }}',
            '{{ params["n"] }}',
            '{{ params["x"] }}',
            '{{ encode(params["flag"]) }}',
            '{{ encode(params["tree"]) | replace("$", "$$") }}',
            '{{ plain(dump_json(params["any"])) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
