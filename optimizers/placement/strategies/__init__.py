"""Strategies of placement, each in one file."""
