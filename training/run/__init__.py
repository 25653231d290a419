"""What a run is and what it gave: configs, grids, results and records. No torch here."""
