"""A run on the hub: `python -m selfplay.hub push runs/selfplay user/name`.

Pushes both adapters with a card into one repository, private unless --public. The token is that of `hf auth login`, or
HF_TOKEN. Exit codes: 0 pushed, 2 not pushed, and why.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from selfplay.run.command import command, parser


@command("selfplay.hub")
def main(arguments: Sequence[str]) -> int:
    commands = parser("selfplay.hub", "Publish a run on the Hugging Face Hub.")
    about = "Push both adapters of a run, with a card."
    pushing = commands.add_subparsers(required=True, metavar="push").add_parser("push", help=about, description=about)
    pushing.add_argument("run", metavar="RUN", help="The --output-dir of a run.")
    pushing.add_argument("repository", metavar="USER/NAME", help="The repository, which is made where it is not there.")
    pushing.add_argument("--public", action="store_true", help="Let everybody read it. Default: private.")
    pushing.add_argument("--revision", metavar="BRANCH", help="The branch to push to. Default: main.")
    pushing.add_argument(
        "--base", metavar="NAME", help="The base's name on the hub, where the run had it from a folder."
    )
    pushing.add_argument(
        "--dataset", metavar="NAME", help="The problems' name on the hub, where the run had them from a file."
    )
    options = commands.parse_args(arguments)
    from selfplay.run.hub.push import push

    run, repo = Path(options.run), options.repository
    print(push(run, repo, options.public, options.revision, base=options.base, dataset=options.dataset))
    return 0


if __name__ == "__main__":
    sys.exit(main())
