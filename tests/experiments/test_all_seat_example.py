"""The example of a learner on all seats: its advantages are right for each seat, and it runs."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from megaland_env import MegalandConfig  # noqa: E402
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv  # noqa: E402
from tests.support.places import ROOT  # noqa: E402

EXAMPLE = ROOT / "experiments" / "examples" / "all_seats.py"
spec = spec_from_file_location("all_seats", EXAMPLE)
assert spec is not None
assert spec.loader is not None
example = module_from_spec(spec)
spec.loader.exec_module(example)


def of_one_seat(active: Any, values: Any, rewards: Any, over: Any, last_value: float) -> dict[int, float]:
    """The advantage at each step at which a seat decides, by the definition: a sum over its later decisions."""
    gains = {}
    for begin in np.flatnonzero(active):
        gain, weight, at = 0.0, 1.0, begin
        while True:
            later = [step for step in np.flatnonzero(active) if step > at]
            ends = [step for step in np.flatnonzero(over) if step >= at]
            following = later[0] if later else len(active)
            if ends and ends[0] < following:
                gain += weight * (rewards[at : ends[0] + 1].sum() - values[at])
                break
            after = values[following] if later else last_value
            gain += weight * (rewards[at:following].sum() + after - values[at])
            if not later:
                break
            weight, at = weight * example.LAMBDA, following
        gains[int(begin)] = gain
    return gains


def test_what_is_paid_between_two_decisions_belongs_to_the_first() -> None:
    luck = np.random.default_rng(0)
    active, over = luck.random((30, 4, 3)) < 0.4, luck.random((30, 4)) < 0.1
    values, rewards = luck.normal(size=(30, 4, 3)), luck.normal(size=(30, 4, 3))
    last = luck.normal(size=(4, 3))
    gains = example.advantages(active, values, rewards, over, last)
    for game, seat in np.ndindex(4, 3):
        at = (slice(None), game, seat)
        wanted = of_one_seat(active[at], values[at], rewards[at], over[:, game], last[game, seat])
        assert gains[at][list(wanted)] == pytest.approx(list(wanted.values()))


def test_a_roll_out_and_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr(example, "STEPS", 20)
    env = MegalandMultiAgentVectorEnv(4, MegalandConfig(3), reward="shaped", autoreset_mode="SameStep")
    net = example.Net(width=8)
    optimizer = torch.optim.Adam(net.parameters())
    batch, observations, infos = example.collect(env, net, *env.reset(seed=0))
    rows, masks, actions, log_probs, gains, returns = batch
    assert len({len(part) for part in batch}) == 1
    assert masks[torch.arange(len(actions)), actions].all()
    assert torch.isfinite(gains).all()
    assert torch.isfinite(returns).all()
    policy, _ = net(rows, masks)
    assert torch.allclose(policy.log_prob(actions), log_probs)
    before = [parameter.clone() for parameter in net.parameters()]
    example.learn(net, optimizer, batch)
    assert not any(map(torch.equal, before, net.parameters()))
    example.collect(env, net, observations, infos)


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["all_seat_example", "--minutes", "0", "--games", "2", "--players", "2"])
    monkeypatch.setattr(example, "MegalandConfig", lambda players: MegalandConfig(players, max_rounds=3))
    full = example.win_share
    monkeypatch.setattr(example, "win_share", lambda net, config: full(net, config, games=8))
    example.main()
    assert "One learner against 1 random players: 0." in capsys.readouterr().out
