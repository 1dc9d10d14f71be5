"""Content-addressed store of files and directories, on this machine or on any fsspec filesystem."""

from couler.store.objects import Object, ObjectStore
from couler.store.reference import Reference, content_of, is_reference, parse_reference

__all__ = ["Object", "ObjectStore", "Reference", "content_of", "is_reference", "parse_reference"]
