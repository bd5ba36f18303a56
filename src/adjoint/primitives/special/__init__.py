"""The functions of `scipy.special`, by family."""
