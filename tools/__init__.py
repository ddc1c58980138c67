"""Work on the project that is no part of the package."""
