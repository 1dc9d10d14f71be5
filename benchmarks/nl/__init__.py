"""How well texts become workflows: descriptions with references, and what answers are worth."""
