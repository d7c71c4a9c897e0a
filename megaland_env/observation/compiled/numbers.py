"""``Numbers``: the numbers of one row before they are scaled, in compiled code.

``numbers[i]`` reads and writes the number that becomes feature i, an int32. Numba offers arrays for this, but it counts
the references to an array that is passed on, and has to assume that whatever is written may be a part of the state.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic, models, register_model
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from megaland_env.engine.compiled.memory import tagged
from megaland_env.observation.features import NUM_FEATURES

_INT32 = ir.IntType(32)


class NumbersType(types.Type):
    """The type of ``Numbers``, which is the address of the first of them."""

    def __init__(self) -> None:
        super().__init__("Numbers")


numbers_type = NumbersType()

if TYPE_CHECKING:
    Numbers = npt.NDArray[np.int32]
else:
    Numbers = numbers_type


@register_model(NumbersType)
class _NumbersModel(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: types.Type) -> None:
        super().__init__(manager, type_, _INT32.as_pointer())


@infer_global(operator.getitem)
class _Read(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.int32, args[0], types.int64) if isinstance(args[0], NumbersType) else None


@infer_global(operator.setitem)
class _Write(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        numbers, _, value = args
        return signature(types.none, numbers, types.int64, value) if isinstance(numbers, NumbersType) else None


@lower_builtin(operator.getitem, NumbersType, types.int64)
def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    numbers, index = args
    return tagged(builder, builder.load(builder.gep(numbers, [index])), "numbers")


@lower_builtin(operator.setitem, NumbersType, types.int64, types.Any)
def _write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    numbers, index, value = args
    number = context.cast(builder, value, sig.args[2], types.int32)
    tagged(builder, builder.store(number, builder.gep(numbers, [index])), "numbers")
    return context.get_dummy_value()


def _new_numbers(typing_context: Any) -> Any:
    def make(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array = cgutils.alloca_once(builder, ir.ArrayType(_INT32, NUM_FEATURES))
        return builder.bitcast(array, _INT32.as_pointer())

    return signature(numbers_type), make


new_numbers: Callable[[], npt.NDArray[np.int32]] = intrinsic(_new_numbers)
"""Numbers with any values. They must not outlive the call of the function that makes them."""
