"""Tests of `adjoint.transforms`."""
