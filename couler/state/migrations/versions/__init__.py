"""Revisions of the tables. A revision that was released is never edited."""
