"""Programs that steps of the zoo run: shipped as text, so they import nothing of Couler."""
