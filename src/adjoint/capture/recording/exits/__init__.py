"""Where values leave a capture: questions, conversions, and what depends on what."""
