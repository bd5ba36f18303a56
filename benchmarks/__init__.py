"""Benchmarks: `python -m benchmarks`, or `python -m benchmarks wine` for one case.

Every figure is a median of interleaved repetitions within one run, and is told as a ratio to
another figure of the same run. Peers that are not installed are skipped aloud.
"""
