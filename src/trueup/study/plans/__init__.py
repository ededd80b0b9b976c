"""What a plan is made of: the search for a number of units, the units to audit next, the result."""
