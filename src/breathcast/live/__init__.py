"""The live engine: positions in, forecasts out, with a state that says when not to trust them, and a journal of all of it."""
