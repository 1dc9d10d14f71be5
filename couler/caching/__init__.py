"""Which artifacts are worth keeping: the model of the Couler paper (IV-A), and policies."""
