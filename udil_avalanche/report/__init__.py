"""Tables and pictures out of run folders; nothing else is read, nothing is computed
anew. This package loads neither torch nor Avalanche.
"""
