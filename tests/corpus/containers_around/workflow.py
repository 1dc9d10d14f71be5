"""Containers before a step prepare its folder and its volume; one beside it answers."""

from couler.ir.pods import PodContainer
from couler.ir.storage import EmptyVolume, EnvVar, Mount
from tests.corpus.build import SHELL_IMAGE, Expected, flow, param, parameter, ref, sh, text

PREPARE = """
test -z "$(ls "$COULER_WORK")"
echo "$0 $GREETING" > "$COULER_WORK/prepared"
echo '{{workflow.name}} $$ $(HOME)' > /scratch/kept
"""
ANSWER = """
until test -e "$COULER_WORK/ask"; do sleep 0.05; done
echo "answer to $(cat "$COULER_WORK/ask") $1" > "$COULER_WORK/answer.tmp"
mv "$COULER_WORK/answer.tmp" "$COULER_WORK/answer"
while true; do sleep 0.05; done
"""
ASK = """
cat "$COULER_WORK/prepared" /scratch/kept
printf question > "$COULER_WORK/ask.tmp"
mv "$COULER_WORK/ask.tmp" "$COULER_WORK/ask"
until test -e "$COULER_WORK/answer"; do sleep 0.05; done
cat "$COULER_WORK/answer"
"""


def container(name: str, script: str, *args: object, **fields: object) -> PodContainer:
    return PodContainer(
        name=name,
        image=SHELL_IMAGE,
        command=("sh", "-c", script),
        args=args,
        mirror_mounts=True,
        **fields,
    )


workflow = flow(
    "containers-around",
    sh("who", "echo you"),
    sh(
        "asks",
        ASK,
        mounts=[Mount(volume="scratch", path="/scratch")],
        init_containers=[
            container(
                "prepare",
                PREPARE,
                "hello",
                env=(EnvVar(name="GREETING", value=text("dear ", ref("who"))),),
            ),
            container("check", 'grep -q dear "$COULER_WORK/prepared"'),
        ],
        sidecars=[container("answers", ANSWER, "sh", param("mark"))],
    ),
    # What comes before and beside a step is that of each item.
    sh(
        "each",
        'cat "$COULER_WORK/item"',
        foreach=[1, 2],
        init_containers=[container("write", 'echo made > "$COULER_WORK/item"')],
    ),
    volumes=[EmptyVolume(name="scratch")],
    parameters=[parameter("mark", "!")],
)
expected = Expected(
    "succeeded",
    succeeded="who asks each each[0] each[1]",
    outputs={
        "asks": {
            "result": "hello dear you\n{{workflow.name}} $$ $(HOME)\nanswer to question !",
        },
        "each": {"result": ["made", "made"]},
    },
)
