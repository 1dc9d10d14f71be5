"""Which tasks run on which nodes of a cluster of unlike machines, and in which order.

Strategies (`registry`) are told pipelines and a cluster, and give an assignment with the reason of
each choice. `simulation` says what a run comes to under a strategy.
"""
