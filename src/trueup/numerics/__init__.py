"""Numbers without a model: special functions, weights, diagnostics."""
