"""Pages that run again in a reader's browser."""
