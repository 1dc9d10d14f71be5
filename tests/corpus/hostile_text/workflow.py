r"""Text reaches a process byte for byte: dollars, quotes, newlines, blanks, any alphabet."""

from couler.ir.storage import EnvVar
from tests.corpus.build import Expected, flow, given, item, out, param, parameter, py, ref, words

TEXTS = [
    "$$",
    "$(HOME)",
    "$$(HOME) $$$(X)",
    "${HOME} $HOME `id` $((1+1))",
    'it\'s "quoted" \\ \\n \\\\',
    "two\nlines\n\nand more\n",
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
    "\u0001\u007f",
]

SHOW = "import json, sys; print(json.dumps(sys.argv[1:]))"
SHOW_ENV = """
import json, os
names = sorted(name for name in os.environ if name.startswith("TEXT_"))
print(json.dumps([os.environ[name] for name in names]))
"""
SHOW_INPUTS = SHOW_ENV.replace("TEXT_", "COULER_INPUT_")
# Here the script itself holds the texts.
SHOW_SOURCE = f"import json\nprint(json.dumps({TEXTS!r}))\n"

workflow = flow(
    "hostile-text",
    words("args", "python", "-c", SHOW, *TEXTS, result="list"),
    py(
        "env",
        SHOW_ENV,
        env=[EnvVar(name=f"TEXT_{n:02}", value=text) for n, text in enumerate(TEXTS)],
        result="list",
    ),
    py(
        "inputs",
        SHOW_INPUTS,
        inputs=[given(f"t{n:02}", text) for n, text in enumerate(TEXTS)],
        result="list",
    ),
    py("script", SHOW_SOURCE, result="list"),
    words("items", "python", "-c", SHOW, item(), foreach=TEXTS, result="list"),
    words("later", "python", "-c", SHOW, item(), foreach=ref("args"), result="list"),
    words("whole", "python", "-c", SHOW, ref("args"), param("p"), result="list"),
    outputs=[out("args", "list", source=ref("args"))],
    parameters=[parameter("p", "$(HOME) $$")],
)
every = range(len(TEXTS))
singles = [[text] for text in TEXTS]
expected = Expected(
    "succeeded",
    succeeded="args env inputs script whole items later "
    + " ".join(f"items[{n}] later[{n}]" for n in every),
    outputs={
        "args": {"result": TEXTS},
        "env": {"result": TEXTS},
        "inputs": {"result": TEXTS},
        "script": {"result": TEXTS},
        "items": {"result": singles},
        "later": {"result": singles},
    },
    run_outputs={"args": TEXTS},
)
