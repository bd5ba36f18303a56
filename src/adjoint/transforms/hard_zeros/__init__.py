"""Hard zeros: programs that carry masks of them."""
