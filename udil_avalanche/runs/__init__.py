"""One run: settings in, a run folder out."""
