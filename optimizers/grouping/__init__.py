"""Putting operators that can share a pod and an image into groups."""
# Automated Planning for Optimal Data Pipeline Instantiation, arXiv 2503.12626.
