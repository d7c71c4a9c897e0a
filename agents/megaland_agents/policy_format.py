"""What a policy's description may say, for those who need no network: see ``megaland_agents.ppo``."""

FORMAT = "megaland-policy/1"

ACTIVATION_NAMES = ("tanh", "relu")
"""What may stand between the layers."""
