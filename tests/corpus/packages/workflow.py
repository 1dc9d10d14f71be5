"""A script that asks for a package can import it."""

from couler.ir.workflow import Script, Step
from tests.corpus.build import PYTHON_IMAGE, Expected, flow

SOURCE = """
import pydantic
assert pydantic.TypeAdapter(int).validate_python("3") == 3
"""

workflow = flow(
    "packages",
    Step(
        name="check",
        action=Script(image=PYTHON_IMAGE, source=SOURCE, packages=("pydantic>=2,<3",)),
    ),
)
expected = Expected("succeeded", succeeded="check")
