"""The claims: what the papers say, how each is tested, what came out, in words."""
