"""Tables in files, of any size: text, Parquet, Arrow and JSON lines."""
