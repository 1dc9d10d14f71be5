"""Clusters of unlike machines: what there is, and what steps may run on."""
