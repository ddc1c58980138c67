"""Base classes and helpers of the plugins."""
