"""Figures about jaxmigrate on real packages: `python -m benchmarks`."""
