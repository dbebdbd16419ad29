"""The live engine: positions in, forecasts out, a state that says when not to trust them, and a journal of it all."""
