"""The live engine: samples in, forecasts out."""
