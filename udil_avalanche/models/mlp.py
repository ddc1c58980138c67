"""Multi-layer perceptrons h = p o e, an encoder e and a predictor p."""

import sys

from torch import Tensor, nn

from udil_avalanche.models.linear import Linear


class EncoderPredictor(nn.Module):
    """A model h = p o e. It has the interface of Avalanche's ``BaseModel``, so that
    Avalanche's plugins that work on features, such as ``LFLPlugin``, accept it.

    Any two modules will do::

        encoder = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU())
        model = EncoderPredictor(encoder, nn.Linear(64, 10))

    :param encoder: e, maps inputs to embeddings.
    :param predictor: p, maps embeddings to class logits.
    """

    def __init__(self, encoder: nn.Module, predictor: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.predictor = predictor
        # Not a base class: a model can be used without loading Avalanche.
        avalanche_models = sys.modules.get("avalanche.models.base_model")
        if avalanche_models is not None:
            avalanche_models.BaseModel.register(type(self))

    def get_features(self, x: Tensor) -> Tensor:
        """The embeddings e(x)."""
        embeddings: Tensor = self.encoder(x)
        return embeddings

    def forward(self, x: Tensor) -> Tensor:
        """The class logits of ``x``."""
        logits: Tensor = self.predictor(self.get_features(x))
        return logits


def mlp(
    input_size: int = 784, n_classes: int = 10, hidden: int = 800
) -> EncoderPredictor:
    """The multi-layer perceptron for permuted and rotated MNIST, that of DER++ with 800
    hidden units: e is its two hidden layers, p its linear classifier.

    ::

        model = mlp(input_size=100, n_classes=2, hidden=200)
        logits = model(torch.randn(8, 100))

    :param input_size: number of values of one input, which may have any shape.
    :param n_classes: number of classes.
    :param hidden: width of the two hidden layers.
    """
    encoder = nn.Sequential(
        nn.Flatten(), *linear_relu(input_size, hidden), *linear_relu(hidden, hidden)
    )
    return EncoderPredictor(encoder, Linear(hidden, n_classes))


def cida_mlp(
    input_size: int = 100, n_classes: int = 2, hidden: int = 800
) -> EncoderPredictor:
    """The multi-layer perceptron that the paper names for HD-Balls, that of CIDA's
    circle with 800 hidden units and without its domain index: e has four hidden layers
    and a linear output, p two hidden layers and a linear classifier.

    HD-Balls still uses :func:`mlp` by default: HD-Balls needs plain SGD with large
    steps, with which an eight-layer network does not start to learn, while two hidden
    layers reach the paper's accuracies of Joint and of ER.

    :param input_size: number of values of one input, which may have any shape.
    :param n_classes: number of classes.
    :param hidden: width of all layers.
    """
    encoder = nn.Sequential(
        nn.Flatten(),
        *linear_relu(input_size, hidden),
        *linear_relu(hidden, hidden),
        *linear_relu(hidden, hidden),
        *linear_relu(hidden, hidden),
        Linear(hidden, hidden),
    )
    predictor = nn.Sequential(
        *linear_relu(hidden, hidden),
        *linear_relu(hidden, hidden),
        Linear(hidden, n_classes),
    )
    return EncoderPredictor(encoder, predictor)


def linear_relu(inputs: int, outputs: int) -> tuple[nn.Module, nn.Module]:
    """A linear layer and its activation."""
    return Linear(inputs, outputs), nn.ReLU()
