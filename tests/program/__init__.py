"""Tests of `adjoint.program`."""
