"""The training loop: `loop` runs the steps. In each, `credit` turns matches into scored samples and `update` moves an adapter.
Before it, `setup` opens what a run needs, `plan` says which steps there are, `ranks` joins several processes.
"""
