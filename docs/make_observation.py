"""Writes ``docs/observation.md`` from the declaration of the features: ``python docs/make_observation.py``."""

from pathlib import Path

from megaland_env.observation import FEATURES_VERSION, NUM_FEATURES, features_table

PAGE = f"""# The observation

`megaland_env.observation.encode(decisions)` writes {NUM_FEATURES} numbers in [-1, 1] for each deciding seat
(version {FEATURES_VERSION} of the layout). `observation.FEATURES[i]` is the name of index i. In the column *scaling*, n
is the number before scaling, and "all copies of it" is the number of treasure cards of that type. The docstring of
`megaland_env.observation.features` says which public facts are left out, and why. This page is generated.

{features_table()}"""

if __name__ == "__main__":
    Path(__file__).with_name("observation.md").write_text(PAGE, encoding="utf-8")
