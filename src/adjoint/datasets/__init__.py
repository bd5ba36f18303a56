"""Floor 10: data that examples, documents and the command line use."""

from adjoint.datasets.wine import Wine, load_wine, normalise

__all__ = ["Wine", "load_wine", "normalise"]
