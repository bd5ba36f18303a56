"""What is recognised in a program, since step by step its derivative would go wrong."""
