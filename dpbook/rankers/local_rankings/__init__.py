"""Private aggregation of whole rankings without a trusted curator."""
