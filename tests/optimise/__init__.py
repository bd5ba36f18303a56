"""Tests of `adjoint.optimise`."""
