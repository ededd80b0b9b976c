"""What is particular to a format of files: CSV, Parquet and Arrow, sheets."""
