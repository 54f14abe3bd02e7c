"""The commands of the package: `selfplay` lists them, and `selfplay train` is `python -m selfplay.train`."""

from __future__ import annotations

import os
import runpy
import sys

from selfplay.errors import UnknownName

COMMANDS = {
    "train": "train both players against each other",
    "play": "play one episode and show everything that happens in it",
    "report": "a run as one HTML page",
    "checkpoints": "the checkpoints of a run",
    "solve": "solve a problem with a trained player",
    "evaluate": "measure players side by side",
    "bank": "write small, strong suites of tests for functions of yours",
    "hub": "publish a run on the Hugging Face Hub",
    "judge": "judge programs on tests",
    "rescore": "what another reward rule would have paid in a run",
    "redteam": "attack the sandbox",
    "doctor": "what this machine offers, and the memory plan of a model",
}


def main() -> None:
    """Runs the command that the first argument names, as `python -m selfplay.NAME` does; without one lists them all."""
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print("usage: selfplay COMMAND ...\n")
        print("\n".join(f"  {command:<12} {about}" for command, about in COMMANDS.items()))
        print("\n`selfplay COMMAND --help` says more; `python -m selfplay.COMMAND` is the same command.")
        return
    if name not in COMMANDS:
        print(f"selfplay: {UnknownName('command', name, COMMANDS)}", file=sys.stderr)
        sys.exit(2)
    sys.argv[1:] = arguments
    sys.path.append(os.getcwd())  # where `python -m` finds modules too; references such as `my_rules:plain` need it
    runpy.run_module(f"selfplay.{name}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
