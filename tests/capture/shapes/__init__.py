"""Every function of the tables on arrays of every shape, layout and dtype, against NumPy's."""
