"""The command line: one flag per key, generated from the keys. `to_flags` writes one that reads back as the same."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NoReturn, get_origin

from selfplay.config.knobs import Config, hints
from selfplay.config.layers import configure, two_models, unknown
from selfplay.config.values import ConfigError, shape


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, so that a command has one way to report bad input."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; see {self.prog} --help")


class _Once(argparse.Action):
    """Stores a value; a second one is an error, not a correction."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        earlier = getattr(namespace, self.dest, values)
        if earlier != values:
            raise two_models(earlier, values, "--") if self.dest == "model" else ConfigError(
                f"{option_string} is given twice, as {earlier} and as {values}; give it once"
            )
        setattr(namespace, self.dest, values)


def from_flags(argv: Sequence[str], prog: str = "python -m selfplay.train", about: str | None = None) -> Config:
    """The configuration of a command line; prints help and exits for --help. Raises ConfigError, UnknownName."""
    parser = _parser(prog, about)
    known, rest = parser.parse_known_args(list(argv))
    if rest:
        raise _strangers(rest)
    given = vars(known)
    return configure({name: value for name, value in given.items() if name != "config"}, given.get("config"))


def to_flags(config: Config) -> list[str]:
    """Flags that `from_flags` reads as this configuration."""
    return [_flag(each.name, getattr(config, each.name)) for each in fields(Config)]


def _flag(name: str, value: Any) -> str:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag}={','.join(map(str, value)) if isinstance(value, tuple) else value}"


def _parser(prog: str, about: str | None) -> _Parser:
    usage = f"{prog} [--config FILE] [--KEY VALUE ...]"
    parser = _Parser(prog, usage, about, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    parser.add_argument("--config", metavar="FILE", help="YAML file of these keys (n_generator_steps: 3); flags win over it.")
    titles = dict.fromkeys(each.metadata["group"] for each in fields(Config))
    groups = {title: parser.add_argument_group(title) for title in titles}
    for each in fields(Config):
        flag = f"--{each.name.replace('_', '-')}"
        groups[each.metadata["group"]].add_argument(flag, **_options(each.name, each.default, each.metadata["help"]))
    return parser


def _options(name: str, default: object, text: str) -> dict[str, Any]:
    hint = hints()[name]
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
    shown = str(shown).lower() if shown is None or isinstance(shown, bool) else shown
    options: dict[str, Any] = {"help": f"{text} Default: {shown}.".replace("%", "%%")}
    if hint is bool:
        return options | {"action": argparse.BooleanOptionalAction}
    return options | {"action": _Once, "metavar": shape(hint)} | ({"nargs": "+"} if get_origin(hint) is tuple else {})


def _strangers(rest: list[str]) -> ConfigError:
    """What to say of arguments that no flag takes."""
    given: dict[str, object] = {}
    for i, word in enumerate(rest):
        if not word.startswith("--"):
            continue
        name, _, value = word[2:].partition("=")
        follows = rest[i + 1] if i + 1 < len(rest) and not rest[i + 1].startswith("--") else ""
        given[name.replace("-", "_")] = value or follows
    if not given:
        return ConfigError(f"{rest[0]!r} is not a flag; flags are written --name value")
    return unknown(list(given), given, dashes="--")
