"""What several plugins build on."""
