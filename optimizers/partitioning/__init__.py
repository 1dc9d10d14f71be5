"""Putting the nodes of a directed acyclic graph into parts within a budget."""
