// Replaced by `make live`, which puts the runtime beside the book.
window.dpbookLive = null;
