"""Configuration: every knob of a run, typed, checked and layered. The bottom layer: any room may import it.

    Config(seed=1)                              the embedded player
    Config(preset="t4")                         a real model on a 16 GB GPU
    configure({"k": 4}, file="my.yaml")         the file's keys, k from here
    from_flags(["--learning-rate", "5e-4"])     the same from a command line

Layers: what suits the kind of model, preset, file, flags; later ones win. `knobs` holds the keys and what they mean,
`values` reads one value, `layers` puts sources together, `flags` is the command line. Left out:
interpolation, includes and nested groups; a run is one flat table that can be read at a glance and given to --config.
"""

from selfplay.config.flags import from_flags, to_flags
from selfplay.config.layers import ANEW, CARDS, PRESETS, Config, configure, fitting_preset
from selfplay.config.values import ConfigError

__all__ = ["ANEW", "CARDS", "PRESETS", "Config", "ConfigError", "configure", "fitting_preset", "from_flags", "to_flags"]
