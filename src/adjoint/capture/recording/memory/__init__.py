"""How traced arrays share memory: views, writes into them, and layouts."""
