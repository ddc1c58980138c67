"""Files of one's own: listing, checking, naming and splitting them."""
