"""What people look at: tables, plots, reports."""
