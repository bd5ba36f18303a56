"""Tests of `adjoint.primitives`."""
