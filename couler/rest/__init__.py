"""Calls of servers over HTTP: limits, credentials by reference, errors that say what to do."""
