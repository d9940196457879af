"""Migrates Python code bases to today's JAX by rewriting them."""

__version__ = "0.1.0"
