"""A model that lives on: it learns domain after domain, on different days.

``version`` is all that is needed to continue, to predict and to judge; ``model_folder``
keeps versions on disk; ``reading`` makes domains of files and arrays, and ``frozen``
features of images; ``training`` learns one more domain; ``update`` puts these together.
A deployed model is a frozen backbone, if there is one, and what was learned, which
``architecture`` builds and ``predictor`` runs. ``predictor`` loads neither
Avalanche nor anything else that predicting does not need, and neither do ``inputs`` and
``predictions``, which read and write files batch by batch. ``exporting`` makes a file
that runs without this package.
"""
