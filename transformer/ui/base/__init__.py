"""Fields of a page and the address that holds them, the list of pages, the visitor."""
