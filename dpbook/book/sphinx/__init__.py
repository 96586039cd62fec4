"""What Sphinx shows of the claims."""
