"""An engine and a pass that Couler finds by their entry points."""
