"""Programs as others write them, who have never heard of this package: only an import is theirs."""
