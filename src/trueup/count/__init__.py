"""From two tables to one bag of counts."""
