"""Pages executed, collected, kept and swept."""
