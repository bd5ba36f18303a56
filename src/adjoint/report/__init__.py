"""Floor 10: what commands tell: the wine network, accounts, timings and pages of functions."""

from adjoint.report.comparison import GradientMethod, Row, compare, methods
from adjoint.report.network import (
    Training,
    accuracy,
    default_learning_rate,
    draw_weights,
    hand_written_gradient,
    loss_on,
    outputs,
    train,
)
from adjoint.report.tables import comparison_table

__all__ = [
    "GradientMethod",
    "Row",
    "Training",
    "accuracy",
    "compare",
    "comparison_table",
    "default_learning_rate",
    "draw_weights",
    "hand_written_gradient",
    "loss_on",
    "methods",
    "outputs",
    "train",
]
