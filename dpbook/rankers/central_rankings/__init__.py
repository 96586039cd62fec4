"""Private aggregation of whole rankings by a trusted curator."""
