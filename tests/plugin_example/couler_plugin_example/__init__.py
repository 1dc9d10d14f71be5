"""An engine, a pass and a step that Couler finds by their entry points."""
