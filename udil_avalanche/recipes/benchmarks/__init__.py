"""One recipe a benchmark."""
