"""Speed of the estimators against other packages, at the same accuracy."""
