"""One recipe a method."""
