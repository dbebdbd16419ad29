"""Studies: methods with grids of hyper-parameters, on recordings, at horizons; resumable, on one machine or many."""
