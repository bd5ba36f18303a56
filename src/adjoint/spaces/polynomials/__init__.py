"""Polynomials on an interval, with `numpy.polynomial` objects in and out."""

from adjoint.spaces.polynomials.polynomials import PolynomialCoefficients, Polynomials

__all__ = ["PolynomialCoefficients", "Polynomials"]
