"""Questions around an estimate: check, compare, plan, sensitivity to the prior."""
