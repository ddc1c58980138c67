"""Multi-layer perceptrons h = p o e, an encoder e and a predictor p."""

from torch import Tensor, nn


class EncoderPredictor(nn.Module):
    """A model h = p o e.

    :param encoder: e, maps inputs to embeddings.
    :param predictor: p, maps embeddings to class logits.
    """

    def __init__(self, encoder: nn.Module, predictor: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.predictor = predictor

    def forward(self, x: Tensor) -> Tensor:
        """The class logits of ``x``."""
        return self.predictor(self.encoder(x))


def mlp(
    input_size: int = 784, n_classes: int = 10, hidden: int = 800
) -> EncoderPredictor:
    """The multi-layer perceptron of permuted and rotated MNIST, that of DER++ with 800
    hidden units: e is its two hidden layers, p its linear classifier.

    :param input_size: number of values of one input, which may have any shape.
    :param n_classes: number of classes.
    :param hidden: width of the two hidden layers.
    """
    encoder = nn.Sequential(
        nn.Flatten(), *linear_relu(input_size, hidden), *linear_relu(hidden, hidden)
    )
    return EncoderPredictor(encoder, nn.Linear(hidden, n_classes))


def cida_mlp(
    input_size: int = 100, n_classes: int = 2, hidden: int = 800
) -> EncoderPredictor:
    """The multi-layer perceptron that the paper names for HD-Balls, that of CIDA's
    circle with 800 hidden units and without its domain index: e has four hidden layers
    and a linear output, p two hidden layers and a linear classifier.

    HD-Balls uses :func:`mlp` by default all the same: plain SGD with large steps, which
    HD-Balls needs, does not start to learn through eight layers, while two hidden
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
        nn.Linear(hidden, hidden),
    )
    predictor = nn.Sequential(
        *linear_relu(hidden, hidden),
        *linear_relu(hidden, hidden),
        nn.Linear(hidden, n_classes),
    )
    return EncoderPredictor(encoder, predictor)


def linear_relu(inputs: int, outputs: int) -> tuple[nn.Module, nn.Module]:
    """A linear layer and its activation."""
    return nn.Linear(inputs, outputs), nn.ReLU()


__all__ = ["EncoderPredictor", "cida_mlp", "linear_relu", "mlp"]
