"""Tests of `adjoint.executors`."""
