"""What a run saves so that it can resume from there, and how it does so.

``tree`` and ``checkpoint`` write nested dictionaries of tensors and plain values to a
folder, ``generators`` and ``strategy_state`` make such dictionaries of the random
generators and of a strategy, ``saving`` decides when, and ``stop`` listens for Ctrl-C.
Nothing is pickled, so reading a state runs no code from whoever wrote it.
"""
