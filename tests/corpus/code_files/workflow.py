"""Files of the project: a package with data, which two scripts import, and one that does not."""

from couler.ir.workflow import CodeFile, Script, Step
from tests.corpus.build import Expected, flow, out

IMAGE = "python:3.12-slim"
FILES = ("_top.py", "shop/__init__.py", "shop/data/words.txt", "shop/pricing.py")


def script(name: str, source: str, files: tuple[str, ...] = FILES) -> Step:
    action = Script(image=IMAGE, source=source, files=files)
    return Step(name=name, action=action, outputs=(out("result"),))


workflow = flow(
    "code-files",
    script("whole", "import shop\nprint(shop.total(2))\n"),
    script("parts", "from shop.pricing import WORDS\nimport _top\nprint(WORDS, _top.TEXT)\n"),
    script("other", "import importlib.util\nprint(importlib.util.find_spec('shop'))\n", ()),
    code=(
        CodeFile(path="_top.py", text="TEXT = 'é {x} $(HOME) $$ {{a}}\\t'\r\n"),
        CodeFile(path="shop/__init__.py", text="from .pricing import total\n"),
        CodeFile(path="shop/data/words.txt", text="good\nbad"),
        CodeFile(
            path="shop/pricing.py",
            text=(
                "from pathlib import Path\n\n"
                'WORDS = (Path(__file__).parent / "data" / "words.txt").read_text().split()\n\n\n'
                "def total(x):\n    return x * len(WORDS)\n"
            ),
        ),
    ),
)
expected = Expected(
    "succeeded",
    succeeded="whole parts other",
    outputs={
        "whole": {"result": "4"},
        "parts": {"result": "['good', 'bad'] é {x} $(HOME) $$ {{a}}\t"},
        "other": {"result": "None"},
    },
)
