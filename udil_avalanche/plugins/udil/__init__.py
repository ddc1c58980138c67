"""The parts of UDIL."""
