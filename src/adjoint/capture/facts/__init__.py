"""Floor 4, facts: what a captured function depended on besides its traced arguments."""
