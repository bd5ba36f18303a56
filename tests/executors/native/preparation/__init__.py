"""What becomes of a program before it is nodes."""
