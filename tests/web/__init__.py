"""The page: its endpoints, and a real browser."""
