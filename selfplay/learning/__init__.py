"""The training loop: `loop` is one step after the other, of which `credit` turns matches into scored samples and `update`
moves an adapter; `setup` opens what a run needs, `plan` says which steps there are, `ranks` joins several processes.
"""
