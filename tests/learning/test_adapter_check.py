"""An adapter that a backend ignores, or takes for the other's, is seen when a policy is opened."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from selfplay.game.episode import ROLES, Role
from selfplay.game.players import Completion, Request, Sampling
from selfplay.learning.policy import Choice, Policy, PolicyError
from selfplay.learning.policy.adapter_check import check_adapters
from selfplay.learning.policy.protocol import Snapshot
from tests.learning.conftest import build_model, make_policy, request, trainer


class Deaf:
    """A sampler that hears the base alone, or each role as the other."""

    def __init__(self, policy: Policy, hears: dict[Role, Role | None]) -> None:
        self.policy, self.hears = policy, hears

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        heard = self.hears[requests[0].key.role]
        if heard is not None:
            asked = [replace(each, key=replace(each.key, role=heard)) for each in requests]
            return self.policy.sampler.complete(asked, sampling)
        adapters = trainer(self.policy).adapters
        kept: dict[Role, Snapshot] = {role: adapters.snapshot(role) for role in ROLES}
        silent: dict[Role, Snapshot] = {role: {n: w * 0 for n, w in kept[role].items()} for role in ROLES}
        adapters.put(silent)
        done = self.policy.sampler.complete(requests, sampling)
        adapters.put(kept)
        return done

    def weights_changed(self, role: Role) -> None: ...

    def forget(self) -> None: ...


def fresh(tokenizer: Any, **settings: Any) -> Policy:
    return make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8, **settings))


@pytest.mark.parametrize("sampler", ["small", "own", "generate"])
def test_what_works_is_left_as_it_was_to_the_bit(tokenizer: Any, sampler: Any) -> None:
    policy = fresh(tokenizer, sampler=sampler)
    asked = [request((5, 9, 17), branch=branch) for branch in range(4)]
    before = [policy.trainer.digest(role) for role in (*ROLES, None)], policy.complete(asked, Sampling(1.0, 8))
    policy.sampler.forget()
    check_adapters(policy, trainer(policy))
    assert (
        [policy.trainer.digest(role) for role in (*ROLES, None)],
        policy.complete(asked, Sampling(1.0, 8)),
    ) == before


@pytest.mark.parametrize(
    "hears",
    [
        {"generator": None, "discriminator": None},
        {"generator": "generator", "discriminator": None},
        {"generator": "discriminator", "discriminator": "generator"},
    ],
)
def test_a_sampler_that_ignores_or_mistakes_an_adapter_is_refused(
    tokenizer: Any, hears: dict[Role, Role | None]
) -> None:
    policy = fresh(tokenizer, sampler="own")
    before = [policy.trainer.digest(role) for role in ROLES]
    with pytest.raises(PolicyError, match="ignored, or taken for another"):
        check_adapters(replace(policy, sampler=Deaf(policy, hears)), trainer(policy))
    assert [policy.trainer.digest(role) for role in ROLES] == before


def test_a_trainer_that_ignores_an_adapter_with_its_sampler_is_refused(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = fresh(tokenizer, sampler="own", fast=False)
    adapters = trainer(policy).adapters

    @contextmanager
    def base_in_place_of_a_role(role: Role) -> Any:
        with adapters.base():
            yield

    monkeypatch.setattr(adapters, "role", base_in_place_of_a_role)
    with pytest.raises(PolicyError, match="ignored, or taken for another"):
        check_adapters(policy, trainer(policy))
