"""Taylor mode: programs that carry truncated power series along."""
