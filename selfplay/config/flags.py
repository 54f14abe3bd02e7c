"""The command line: one flag per key, generated from the keys. `to_flags` writes one that reads back as the same."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, NoReturn, get_origin

from selfplay.config.knobs import hints
from selfplay.config.layers import PRESETS, Config, configure, defaults, given_values, two_models, unknown
from selfplay.config.values import ConfigError, shape

CommandFlags = Mapping[str, str | Mapping[str, Any]]
ALIASES = {"sandbox_min_tier": ("--sandbox.min-tier",)}  # other spellings that a key's flag may have


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, so that a command has one way to report bad input."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; see {self.prog} --help")


class _Once(argparse.Action):
    """Stores a value; a second one is an error, not a correction."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        earlier = getattr(namespace, self.dest, values)
        if earlier != values:
            raise (
                two_models(earlier, values, "--")
                if self.dest == "model"
                else ConfigError(f"{option_string} is given twice, as {earlier} and as {values}; give it once")
            )
        setattr(namespace, self.dest, values)


def from_flags(
    argv: Sequence[str],
    prog: str = "python -m selfplay.train",
    about: str | None = None,
    keys: Collection[str] | None = None,
) -> Config:
    """The configuration of a command line; prints help and exits for --help. Raises ConfigError, UnknownName.

    `keys`: those that the command takes; None: all.
    """
    return configure(words(argv, prog, about, keys)[0])


def words(
    argv: Sequence[str],
    prog: str,
    about: str | None = None,
    keys: Collection[str] | None = None,
    extra: CommandFlags | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a command line says and no more: the keys that it or its --config file gives, and the values of its own flags.

    `extra` maps a command's own flags to their help, or to the options of argparse; a name in capitals is positional.
    """
    extra = extra or {}
    parser = _parser(prog, about, hints() if keys is None else keys, extra)
    known, rest = parser.parse_known_args([_dashed(word) for word in argv])
    if rest:
        raise _strangers(rest, prog, [*extra, *(hints() if keys is None else keys)])
    given = vars(known)
    mine = {_key(name): given.pop(_key(name)) for name in extra if _key(name) in given}
    file = given.pop("config", None)
    return given_values(given, file), mine


def _key(name: str) -> str:
    return name.lower().replace("-", "_")


def _dashed(word: str) -> str:
    """--learning_rate is --learning-rate; a value behind `=` is left alone."""
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value if name.startswith("--") else word


def to_flags(config: Config) -> list[str]:
    """Flags that `from_flags` reads as this configuration."""
    values = {each.name.replace("_", "-"): getattr(config, each.name) for each in fields(Config)}
    return [
        f"--{flag}={','.join(map(str, value)) if isinstance(value, tuple) else value}" for flag, value in values.items()
    ]


def _parser(prog: str, about: str | None, keys: Collection[str], extra: CommandFlags) -> _Parser:
    positional = "".join(f" [{name}]" for name in extra if name.isupper())
    usage = f"{prog}{positional} [--config FILE] [--KEY VALUE ...]"
    parser = _Parser(prog, usage, about, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for name, said in extra.items():
        options: dict[str, Any] = {"help": said, "metavar": "NAME"} if isinstance(said, str) else dict(said)
        if name.isupper():
            parser.add_argument(name.lower(), nargs="?", **options)
        else:
            parser.add_argument(f"--{name}", **{"action": _Once, **options})
    parser.add_argument("--config", metavar="FILE", help="YAML file of these keys (k: 2); flags win over it.")
    chosen = [each for each in fields(Config) if each.name in keys]
    titles = dict.fromkeys(each.metadata["group"] for each in chosen)
    groups = {title: parser.add_argument_group(title) for title in titles}
    for each in chosen:
        flag = f"--{each.name.replace('_', '-')}"
        options = {"dest": each.name, **_options(each.name, each.metadata["help"])}
        groups[each.metadata["group"]].add_argument(flag, *ALIASES.get(each.name, ()), **options)
    return parser


def _options(name: str, text: str) -> dict[str, Any]:
    hint = hints()[name]
    options = {"action": _Once, "metavar": shape(hint)} | ({"nargs": "+"} if get_origin(hint) is tuple else {})
    return options | {"help": f"{text} Default: {_default(name)}.".replace("%", "%%")}


def _default(name: str) -> str:
    """What a key is unless given: for the embedded player, and where they differ for a model and in the presets."""
    embedded, model = (_shown(defaults(kind)[name]) for kind in (True, False))
    said = [embedded] + [f"{model} for a model"] * (model != embedded)
    return "; ".join(said + [f"{preset}: {_shown(own[name])}" for preset, own in PRESETS.items() if name in own])


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _strangers(rest: list[str], prog: str, known: Collection[str]) -> ConfigError:
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
    return unknown(list(given), given, known, prog, dashes="--")
