"""Training of linear networks with normalization: data, one loop, many members at once, records, tables."""
