"""``Numbers``: the numbers of one row before they are scaled, in compiled code.

``numbers[i]`` reads and writes the number that becomes feature i, an int32. Numba offers arrays for this, but it counts
the references to an array that is passed on, and has to assume that whatever is written may be a part of the state.
"""

from __future__ import annotations

import operator
import sys
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

from megaland_env.cards import NUM_TREASURES
from megaland_env.engine.compiled.memory import FieldType, entry_pointer, member, tagged
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


def _take_pile(typing_context: Any, numbers: Any, first: Any, pile: Any) -> Any:
    def make(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        numbers, first, pile = args
        if sys.byteorder == "big":
            pile = builder.bswap(pile)
        counts = builder.bitcast(pile, ir.VectorType(ir.IntType(8), 8))
        used = ir.Constant(ir.VectorType(_INT32, NUM_TREASURES), list(range(NUM_TREASURES)))
        vector = ir.VectorType(_INT32, NUM_TREASURES)
        wide = builder.zext(builder.shuffle_vector(counts, counts, used), vector)
        pointer = builder.bitcast(builder.gep(numbers, [first]), vector.as_pointer())
        tagged(builder, builder.store(wide, pointer, align=4), "numbers")
        return context.get_dummy_value()

    return signature(types.none, numbers_type, types.int64, types.uint64), make


take_pile: Callable[[npt.NDArray[np.int32], int, np.uint64], None] = intrinsic(_take_pile)
"""Take the number of treasures of each type in a pile, at the indices from ``first`` on: all at once, by a vector."""


def _take_column(typing_context: Any, numbers: Any, first: Any, field: Any, index: Any) -> Any:
    """Take all entries ``field[k, *index]``, at the indices from ``first`` on.

    One after the other, each is a fixed number of bytes further; to compute its place from k takes twice as long.
    """

    def make(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        numbers, first, field, index = args
        field_type, index_type = sig.args[2:]
        number = ir.IntType(64)
        parts = [builder.extract_value(index, k) for k in range(len(index_type))]
        whole_type = types.UniTuple(types.int64, len(parts) + 1)
        whole = context.make_tuple(builder, whole_type, [number(0), *parts])
        pointer = entry_pointer(context, builder, field_type, field, whole_type, whole)
        entries, *others = field_type.field.axes
        stride = member(context, builder, field, "num_games")
        if others:
            stride = builder.mul(stride, member(context, builder, field, "num_players"))
        for k in range(entries):
            entry = tagged(builder, builder.load(pointer), field_type.name)
            target = builder.gep(numbers, [builder.add(first, number(k))])
            tagged(builder, builder.store(builder.zext(entry, _INT32), target), "numbers")
            pointer = builder.gep(pointer, [stride])
        return context.get_dummy_value()

    if not isinstance(field, FieldType) or not isinstance(index, types.UniTuple):
        return None
    return signature(types.none, numbers_type, types.int64, field, index), make


take_column: Callable[[npt.NDArray[np.int32], int, Any, tuple[int, ...]], None] = intrinsic(_take_column)
