"""Which artifacts are worth keeping: the model of the Couler paper (IV-A), and policies.

A library on names and numbers. It knows nothing of stores, databases and engines.
"""
