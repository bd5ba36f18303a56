"""Matrix products inside generated machine code."""

from __future__ import annotations

from adjoint.executors.native.products.emission import Emitted, emit_product, product_cycles
from adjoint.executors.native.products.plan import ArrayProduct

__all__ = ["ArrayProduct", "Emitted", "emit_product", "product_cycles"]
