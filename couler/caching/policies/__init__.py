"""The policies that come with Couler, each in a file of its own."""
