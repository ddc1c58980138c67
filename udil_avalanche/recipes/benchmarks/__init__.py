"""One recipe per benchmark."""
