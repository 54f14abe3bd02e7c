"""The embedded player: `family` and `operations` draw procedural problems, `corpus` what it learnt from, `make` trains it."""
