"""The options of benchmarks that read workflows or draw them at random, and their tables."""

from __future__ import annotations

import argparse
import json
import typing as t
from collections.abc import Sequence
from pathlib import Path

from couler.cli.format import aligned
from workloads import wfformat

SCHEMA_VERSION = 1
"""Version of what `--json` writes."""


class Options(argparse.Namespace):
    """What is asked for.

    Attributes
    ----------
    data
        Folder of WfFormat files, searched with its subfolders; missing if it is the default one
        and not there.
    json
        Where the rows are written; None for nowhere.
    seed
        Of the random workflows.
    quick
        Small workflows and few real ones.
    """

    data: Path
    json: Path | None
    seed: int
    quick: bool

    def write(self, **document: t.Any) -> None:
        """Write the figures as JSON, if that is asked for."""
        if self.json is not None:
            whole = {"schema_version": SCHEMA_VERSION, "seed": self.seed, **document}
            self.json.write_text(json.dumps(whole, indent=1) + "\n")


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options, whose help is the text of a benchmark."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=wfformat.SHARED,
        metavar="DIR",
        help="folder of WfFormat files, plain or gzip; default %(default)s, if it is there",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all rows there")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the random workflows; default %(default)s"
    )
    parser.add_argument("--quick", action="store_true", help="small workflows and few real ones")
    return parser


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> Options:
    """Return the options; what would fail after minutes is refused at once."""
    options = parser.parse_args(arguments, namespace=Options())
    if options.data != wfformat.SHARED and not options.data.is_dir():
        parser.error(f"--data: there is no folder {options.data}")
    if options.json is not None and not options.json.absolute().parent.is_dir():
        parser.error(f"--json: there is no folder {options.json.absolute().parent}")
    return options


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], texts: int) -> str:
    """Return lines in columns, the first ones of text and the others of numbers."""
    return "\n".join(aligned((heads, *lines), right=range(texts, len(heads))))
