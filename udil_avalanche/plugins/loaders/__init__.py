"""Faster data loaders."""
