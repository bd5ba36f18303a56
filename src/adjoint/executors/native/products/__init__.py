"""Matrix products inside generated machine code."""

from __future__ import annotations

from adjoint.executors.native.products.emission import Emitted, emit_product
from adjoint.executors.native.products.plan import Product

__all__ = ["Emitted", "Product", "emit_product"]
