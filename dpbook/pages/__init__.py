"""What one page needs and no other: a module for each page that has such things; not API."""
