"""One policy that learns by playing all seats, in plain PyTorch: ``python experiments/examples/all_seats.py``.

PPO with action masks on ``MegalandMultiAgentVectorEnv``, written to be read from top to bottom and modified. Two things
are special to games with many seats: a seat chooses only when it is active (``collect``), and all rewards between two
of its decisions, whoever made the moves, belong to the first of these decisions (``advantages``).
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
import torch
from torch import nn

from megaland_env import NUM_ACTIONS, MegalandConfig
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv
from megaland_env.observation import NUM_FEATURES

STEPS, EPOCHS, MINIBATCH = 96, 3, 2048
LEARNING_RATE, CLIP, ENTROPY, LAMBDA = 1e-3, 0.2, 0.01, 0.95  # gamma is 1, as in the shaped reward


class Net(nn.Module):
    """A network with a policy head and a value head on a common trunk."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(NUM_FEATURES, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.policy = nn.Linear(width, NUM_ACTIONS)
        self.value = nn.Linear(width, 1)
        nn.init.zeros_(self.policy.weight)  # uniform over the legal actions at first

    def forward(self, observations, masks):
        """Distributions over the legal actions, and values (M,), for observations (M, D) and masks (M, 40)."""
        hidden = self.trunk(observations)
        logits = self.policy(hidden).masked_fill(~masks, -1e8)
        return torch.distributions.Categorical(logits=logits, validate_args=False), self.value(hidden).squeeze(1)

    @torch.no_grad()
    def decide(self, observations, infos, seats):
        """Observations, masks, chosen actions, log-probabilities and values (M, ...) of the marked seats (N, P)."""
        rows = torch.from_numpy(observations[seats])
        masks = torch.from_numpy(infos["action_mask"][seats]).bool()
        policy, values = self(rows, masks)
        actions = policy.sample()
        return rows, masks, actions, policy.log_prob(actions), values


def collect(env, net, observations, infos):
    """Play ``STEPS`` steps; return the decisions of all seats as one batch, and the last observations and infos."""
    shape = (STEPS, env.num_envs, env.num_players)
    active, values, rewards = np.zeros(shape, bool), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    over, decided = np.zeros(shape[:2], bool), []
    for step in range(STEPS):
        active[step] = infos["active"]
        *decision, own_values = net.decide(observations, infos, active[step])
        decided.append(decision)
        values[step, active[step]] = own_values
        actions = np.zeros(shape[1:], np.int64)  # PASS for seats that are not asked
        actions[active[step]] = decision[2]
        observations, rewards[step], terminations, truncations, infos = env.step(actions)
        over[step] = terminations | truncations
    *_, last_values = net.decide(observations, infos, np.ones(shape[1:], bool))
    gains = advantages(active, values, rewards, over, last_values.reshape(shape[1:]).numpy())[active]
    batch = [torch.cat(parts) for parts in zip(*decided, strict=True)]
    return [*batch, torch.from_numpy(gains), torch.from_numpy(gains + values[active])], observations, infos


def advantages(active, values, rewards, over, last_values):
    """Compute generalised advantages (T, N, P), valid where ``active``, from the last step back to the first."""
    gains = np.zeros_like(values)
    next_value, next_gain, paid = last_values, np.zeros_like(last_values), np.zeros_like(last_values)
    for step in reversed(range(len(values))):
        goes_on = ~over[step][:, None]  # a game that was cut off counts as over, with no further rewards
        next_value, next_gain, paid = next_value * goes_on, next_gain * goes_on, paid * goes_on + rewards[step]
        gains[step] = paid + next_value - values[step] + LAMBDA * next_gain
        next_value = np.where(active[step], values[step], next_value)
        next_gain = np.where(active[step], gains[step], next_gain)
        paid = np.where(active[step], 0, paid)
    return gains


def learn(net, optimizer, batch):
    """Update the network by PPO."""
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(batch[0])).split(MINIBATCH):
            observations, masks, actions, old_log_probs, gains, returns = (part[rows] for part in batch)
            policy, values = net(observations, masks)
            ratio = (policy.log_prob(actions) - old_log_probs).exp()
            gains = (gains - gains.mean()) / (gains.std() + 1e-8)
            surrogate = torch.min(ratio * gains, ratio.clamp(1 - CLIP, 1 + CLIP) * gains).mean()
            loss = 0.5 * (returns - values).square().mean() - surrogate - ENTROPY * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()


def win_share(net, config, games=1000, seed=10**9):
    """Mean win share of one learner against random players, and its standard error; the learner's seat rotates."""
    env = MegalandMultiAgentVectorEnv(games, config, autoreset_mode="SameStep")
    observations, infos = env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    mine = np.arange(env.num_players) == np.arange(games)[:, None] % env.num_players
    shares = np.full(games, np.nan)
    while np.isnan(shares).any():
        actions = (rng.random(infos["action_mask"].shape, np.float32) * infos["action_mask"]).argmax(axis=2)
        asked = infos["active"] & mine
        if asked.any():
            actions[asked] = net.decide(observations, infos, asked)[2]
        observations, _, terminations, truncations, infos = env.step(actions)
        first = (terminations | truncations) & np.isnan(shares)  # only the first game of each slot counts
        if first.any():
            shares[first] = infos["final_info"]["win_share"][mine][first]
    return shares.mean(), shares.std() / games**0.5


def main() -> None:
    """Train for a few minutes, and print how strong the policy is."""
    parser = argparse.ArgumentParser(description="One policy learns by playing all seats.")
    parser.add_argument("--minutes", type=float, default=2.0, help="minutes of training (%(default)s)")
    parser.add_argument("--games", type=int, default=256, help="number of games in parallel (%(default)s)")
    parser.add_argument("--players", type=int, default=4, help="number of players in each game (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the games and the network (%(default)s)")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    config = MegalandConfig(arguments.players)
    env = MegalandMultiAgentVectorEnv(arguments.games, config, reward="shaped", autoreset_mode="SameStep")
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), LEARNING_RATE)
    # Game i gets the seed s + i, so runs share no game only if their base seeds are at least `num_envs` apart.
    observations, infos = env.reset(seed=arguments.seed * env.num_envs)
    decisions, spent, updates = 0, 0.0, 0
    while spent < 60 * arguments.minutes:
        began = perf_counter()
        batch, observations, infos = collect(env, net, observations, infos)
        learn(net, optimizer, batch)
        spent += perf_counter() - began
        decisions, updates = decisions + len(batch[0]), updates + 1
        if updates % 10 == 0:
            print(f"{spent:5.0f} s  {decisions:9,} decisions  {win_share(net, config, 300)[0]:.2f} of the wins")
    share, error = win_share(net, config)
    print(f"One learner against {arguments.players - 1} random players: {share:.3f} ± {1.96 * error:.3f} of the wins")


if __name__ == "__main__":
    main()
