"""From what is planned to instructions: loops, values, memory, kernels."""
