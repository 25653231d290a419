"""One file a claim: a module that defines ``CLAIM``."""
