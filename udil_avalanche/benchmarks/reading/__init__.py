"""The user's own files: listing, checking, naming and splitting them."""
