"""Measuring what decisions an agent makes: ``probe`` plays and measures, and ``load_probe`` reads what
``save_probe`` wrote. ::

    from megaland_experiments.probe import probe

    result = probe("planner", "threshold", games=500)
    print(result.value("loss_per_run"))

The module of a name is imported when the name is first used.
"""

from typing import TYPE_CHECKING

from megaland_experiments.shared.lazy_names import lazy_names

if TYPE_CHECKING:
    from megaland_experiments.probe.command import probe
    from megaland_experiments.probe.result import Probe
    from megaland_experiments.probe.saving import load_probe, save_probe
else:
    __getattr__ = lazy_names(
        __name__, {"Probe": "result", "load_probe": "saving", "probe": "command", "save_probe": "saving"}
    )

__all__ = ["Probe", "load_probe", "probe", "save_probe"]
