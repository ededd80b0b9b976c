"""From draws of the rates to draws of counts and totals, for the whole and for groups."""
