"""Tables, pages and pictures from run folders.

Nothing is trained or evaluated here, and neither torch nor Avalanche is loaded.
"""
