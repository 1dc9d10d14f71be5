"""Content-addressed store of files and directories, on this machine or on any fsspec filesystem.

What steps give each other as files goes through it: `ObjectStore.put` returns a reference, the
text that travels, and `ObjectStore.fetch` makes a private copy of what it stands for.
"""

from couler.store.objects import Object, ObjectStore
from couler.store.reference import Reference, content_of, is_reference, parse_reference

__all__ = ["Object", "ObjectStore", "Reference", "content_of", "is_reference", "parse_reference"]
