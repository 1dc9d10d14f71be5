"""npz files: the arrays `X` and `y`, read without running anything that is in them."""

from __future__ import annotations

import lzma
import struct
import tokenize
import typing as t
import zipfile
import zlib
from pathlib import Path

from couler.errors import ConfigurationError, TuningError

ARRAY_LABEL: t.Final = "y"
"""The column of the labels of an npz file."""

MOST_CELLS = 20_000_000
"""More values than these are not read."""

_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, EOFError),
    *(ValueError, KeyError, TypeError, SyntaxError, OverflowError, NotImplementedError),
    RuntimeError,  # a password, or a way of packing that this Python has not
)
"""What comes of an archive, or of an array in it, that is none or is damaged."""

_MOST_BYTES = 8 * MOST_CELLS + (1 << 20)


class Arrays(t.NamedTuple):
    """Rows to learn from."""

    names: list[str]
    x: t.Any
    y: t.Any


def numpy() -> t.Any:
    """Return numpy, which is an extra."""
    try:
        import numpy
    except ImportError as error:
        raise ConfigurationError("data cards need numpy: pip install 'couler[tuning]'") from error
    return numpy


def read_arrays(path: Path) -> Arrays:
    """Read an npz file."""
    np = numpy()
    try:
        with zipfile.ZipFile(path) as archive:  # sizes first: a small file can stand for a huge one
            whole = sum(one.file_size for one in archive.infolist())
        if whole > _MOST_BYTES:
            raise TuningError(f"{path}: its arrays have {whole:,} bytes, above {_MOST_BYTES:,}")
        with np.load(path, allow_pickle=False) as arrays:
            names = {one.lower(): one for one in arrays.files}
            if "x" not in names or "y" not in names:
                has = ", ".join(arrays.files[:20]) or "none"
                raise TuningError(f"{path}: it must have the arrays X and y; it has {has}")
            x, y = arrays[names["x"]], arrays[names["y"]]
    except OSError as error:
        raise TuningError(f"the data {path} cannot be read: {error.strerror or error}") from error
    except MemoryError as error:  # its header claims more than the file has
        raise TuningError(
            f"{path} cannot be read as npz: its arrays do not fit: {error}"
        ) from error
    except _UNREADABLE as error:
        if isinstance(error, TuningError):
            raise
        raise TuningError(f"{path} cannot be read as npz: {error}") from error
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        raise TuningError(f"{path} cannot be read as npz: X and y are no arrays of numpy")
    if x.dtype.kind not in "biuf" or y.dtype.kind not in "biufUS":
        raise TuningError(f"{path}: X has numbers and y numbers or texts, not {x.dtype}, {y.dtype}")
    if x.ndim > 2 and x.size:
        x = x.reshape(len(x), -1)
    if x.ndim != 2 or y.ndim != 1 or len(x) != len(y) or not x.size:
        raise TuningError(f"{path}: X has n x m values and y n, not {x.shape} and {y.shape}")
    labels = y.astype(str) if y.dtype.kind in "US" else y
    return Arrays([f"x{index}" for index in range(x.shape[1])], x.astype("float64"), labels)
