"""Every method by name, and the `Estimate` it returns."""
