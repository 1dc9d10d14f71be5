"""Rules for lists of files: where they are, and which of them."""

from __future__ import annotations

from couler.ir.artifacts import location_texts
from couler.ir.listing import LISTED, ListFiles, pattern_expression
from couler.ir.verify.locations import check_location
from couler.ir.verify.places import add_use
from couler.ir.verify.values import Reader
from couler.ir.workflow import STDOUT, Step


def check_listing(reader: Reader, step: Step, action: ListFiles) -> None:
    """Check a list of the files below a location."""
    if not isinstance(action.at, LISTED):
        kinds = ", ".join(kind.model_fields["kind"].default for kind in LISTED)
        reader.add(
            "CLR468",
            f"files at a {action.at.kind} location cannot be listed. There are lists of: {kinds}.",
        )
    if action.pattern is not None:
        try:
            pattern_expression(action.pattern)
        except ValueError as error:
            reader.add("CLR468", f"{action.pattern!r} is no pattern: {error}.")
    check_location(action.at, "at", reader.add)
    add_use(reader.view, step, "at", action.at, is_folder=True, writes=False)
    for name, text in location_texts(action.at):
        if not isinstance(text, str):
            reader.text(text, f"at.{name}")
    if not step.outputs:
        reader.add("CLR468", f"it declares no output. Declare {STDOUT}, of the type list.")
