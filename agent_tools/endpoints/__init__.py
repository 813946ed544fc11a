"""A model behind an endpoint: who is asked and within what bounds, and what is made of how it answers."""
