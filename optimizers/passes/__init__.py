"""The passes that come with Couler, each in a file of its own and found by entry point."""
