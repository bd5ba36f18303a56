"""Elements of spaces: their values, who is a member, covectors, and coordinates."""
