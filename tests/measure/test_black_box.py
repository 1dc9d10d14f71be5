"""Programs and what comes of them: these stay as they are while code and other tests are rewritten.

Whoever changes one of these files states the digest anew, and so says that an outcome changed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DIGESTS = {
    "corpus/*/workflow.py": "cee6eca975e27cf1",
    "corpus/build.py": "6a180f239a1ac8fa",
    "programs/**/*": "2da021b881a2d512",
    "nl_benchmark/items/**/*": "9ba87ed2bbc56d31",
    "golden/argo/*": "be3008d6a0eb7c22",
    "golden/ancestor/*": "0b716d7dd9115829",
    "golden/dsl/*": "eedfe1b1b36a1d51",
    "golden/grouping/*": "3f96cfbf72c9ecd5",
    "golden/passes/*": "4c8f7b3b2db2dc82",
    "golden/show/*": "4cc3fbff6ab7a339",
    "box/hostile*.py": "1c9bfb78a0b5133d",
    "box/escapes.py": "c4a2f030e8851b03",
    "backends/airflow/hostile.py": "0cf254504b7d9549",
    "support/*fault*.py": "f100d7ee096c16a9",
    "support/strategies.py": "fe2d07da5b87d8c0",
}


def digest(pattern: str) -> str:
    """The digest of all files of a pattern, with their paths."""
    found = hashlib.sha256()
    paths = [path for path in sorted(TESTS.glob(pattern)) if path.is_file()]
    assert paths, pattern
    for path in paths:
        if path.suffix != ".pyc":
            found.update(f"{path.relative_to(TESTS).as_posix()}\0".encode())
            found.update(path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


@pytest.mark.parametrize("pattern", DIGESTS)
def test_the_files_are_those_of_before(pattern: str) -> None:
    assert digest(pattern) == DIGESTS[pattern]
