"""What pytrees are made of besides arrays: containers of the user's, and held leaves."""
