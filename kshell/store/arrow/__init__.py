"""Tables in files of Parquet and Arrow."""
