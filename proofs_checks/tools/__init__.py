"""What several claims prove or compute with."""
