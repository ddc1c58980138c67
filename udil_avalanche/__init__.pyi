from .benchmarks import (
    arrays,
    folders,
    hd_balls,
    load_mnist,
    permuted_mnist,
    rotated_mnist,
    seq_core50,
)
from .data import Domain, DomainScenario, DomainTensors, ImageFiles, domain_of
from .errors import RunError, RunStopped, SettingsError
from .evaluation.domain_metrics import DomainMetrics, domain_metrics
from .evaluation.loggers import CSVLogger, TensorboardLogger, WandBLogger
from .evaluation.term_metrics import TermMetrics, term_metrics
from .memory import BalancedMemory, ReservoirMemory
from .models import DomainDiscriminator, EncoderPredictor, cida_mlp, image_model, mlp
from .plugins import (
    AdaptiveCoefficientsPlugin,
    AGEMPlugin,
    AnnealingPlugin,
    AveragedWeightsPlugin,
    BalancedReplayPlugin,
    CLSERPlugin,
    DERPlugin,
    DiscriminatorPlugin,
    EmbeddingDistillationPlugin,
    ESMERPlugin,
    FiniteLossPlugin,
    GEMPlugin,
    GradientClippingPlugin,
    HistoryModelPlugin,
    ImageLoaderPlugin,
    LwFPlugin,
    OnlineEWCPlugin,
    RandomFlipPlugin,
    SupConPlugin,
    SynapticIntelligencePlugin,
    TensorLoaderPlugin,
)
from .recipes.catalogue import BENCHMARKS, METHODS
from .recipes.recipe import BenchmarkRecipe, MethodRecipe
from .recipes.resolve import resolve
from .recipes.settings import Before, NoMemorySettings, Role, RunSettings, Was
from .runs.experiment import run
from .strategies import UDIL, Joint
from .theory.unification import PRESETS

__version__: str

__all__ = [
    "BENCHMARKS",
    "METHODS",
    "PRESETS",
    "UDIL",
    "AGEMPlugin",
    "AdaptiveCoefficientsPlugin",
    "AnnealingPlugin",
    "AveragedWeightsPlugin",
    "BalancedMemory",
    "BalancedReplayPlugin",
    "Before",
    "BenchmarkRecipe",
    "CLSERPlugin",
    "CSVLogger",
    "DERPlugin",
    "DiscriminatorPlugin",
    "Domain",
    "DomainDiscriminator",
    "DomainMetrics",
    "DomainScenario",
    "DomainTensors",
    "ESMERPlugin",
    "EmbeddingDistillationPlugin",
    "EncoderPredictor",
    "FiniteLossPlugin",
    "GEMPlugin",
    "GradientClippingPlugin",
    "HistoryModelPlugin",
    "ImageFiles",
    "ImageLoaderPlugin",
    "Joint",
    "LwFPlugin",
    "MethodRecipe",
    "NoMemorySettings",
    "OnlineEWCPlugin",
    "RandomFlipPlugin",
    "ReservoirMemory",
    "Role",
    "RunError",
    "RunSettings",
    "RunStopped",
    "SettingsError",
    "SupConPlugin",
    "SynapticIntelligencePlugin",
    "TensorLoaderPlugin",
    "TensorboardLogger",
    "TermMetrics",
    "WandBLogger",
    "Was",
    "arrays",
    "cida_mlp",
    "domain_metrics",
    "domain_of",
    "folders",
    "hd_balls",
    "image_model",
    "load_mnist",
    "mlp",
    "permuted_mnist",
    "resolve",
    "rotated_mnist",
    "run",
    "seq_core50",
    "term_metrics",
]
