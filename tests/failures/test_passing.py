"""What engines are told of failures that pass."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from couler.failures import PATTERNS, passing_pattern

PROGRAM = """
package main

import (
	"encoding/json"
	"os"
	"regexp"
)

func main() {
	var given struct {
		Pattern string
		Texts   []string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	pattern := regexp.MustCompile(given.Pattern)
	found := []bool{}
	for _, text := range given.Texts {
		found = append(found, pattern.MatchString(text))
	}
	_ = json.NewEncoder(os.Stdout).Encode(found)
}
"""
KNOWN = {
    "EvictedErr",
    "NodeLostErr",
    "NodeRefusedErr",
    "NodeShutdownErr",
    "PodDeletedErr",
    "PodIncompleteErr",
    "PreemptedErr",
    "SlowDownErr",
    "StorageServerErr",
}
MESSAGES = [(pattern, pattern.example.message) for pattern in PATTERNS]


def test_pattern_for_argo_has_what_passes_and_nothing_that_never_does() -> None:
    # Go has \\z for the end of a text; in Python it is \\Z.
    text = re.compile(passing_pattern().replace(r"\z", r"\Z"))
    found = {pattern.name for pattern, message in MESSAGES if text.search(message)}
    assert found >= KNOWN
    assert all(pattern.helps for pattern in PATTERNS if pattern.name in found)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_go_reads_the_pattern_for_argo_as_python_does(tmp_path: Path) -> None:
    program = tmp_path / "main.go"
    program.write_text(PROGRAM)
    messages = [message for _, message in MESSAGES]
    done = subprocess.run(
        ["go", "run", str(program)],
        input=json.dumps({"Pattern": passing_pattern(), "Texts": messages}),
        capture_output=True,
        text=True,
        check=True,
    )
    text = re.compile(passing_pattern().replace(r"\z", r"\Z"))
    assert json.loads(done.stdout) == [text.search(message) is not None for message in messages]
