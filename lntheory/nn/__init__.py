"""Layer normalization in torch: layers, nets as modules, norms swapped in any model, probes."""
