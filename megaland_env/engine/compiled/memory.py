"""``Memory``: the state of a batch of games as compiled code sees it.

In compiled code ``memory.coins[seat, game]`` reads and writes the very entry that ``state.coins[seat, game]`` is in
Python. All fields that ``GameState`` declares are there, under their names, with the same indices; so a field that is
added there needs nothing here.

Numba offers arrays for this, but 45 of them as arguments of every function take minutes to compile. So a ``Memory`` is
the address of a few numbers, one of which is the address of ``GameState.bytes``, and the place of an entry is computed
where it is used:

- reading gives int64 for all counts, so that nothing overflows or turns unsigned on the way; uint64 for words; and
  booleans as they are;
- writing cuts a number to the size of the entry;
- no index is checked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic, models, register_model
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature

from megaland_env.arrays import Ints
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.state import FIELDS, Field, GameState, places

OPTIONS = (
    "num_games",
    "num_players",
    "skip_forced",
    "pays_automatically",
    "max_rounds",
    "first_player_set",
    "log_size",
)
"""Numbers that belong to the batch, in the order in which ``memory_of`` takes them; int64.

``first_player_set`` is the seat that begins, or -1 if it is drawn; ``log_size`` is the number of entries of the log
(events.py), 0 if there is none.
"""


OUTSIDE = {
    "rewards": Field(np.float32, ("P",), "the rewards of the last step"),
    "margins_seen": Field(np.int16, ("P",), "the margin when the seat last observed the game"),
}
"""Arrays of ``MegalandGames`` that are used like fields of the state. (Numba counts the references to arrays that are
passed on as such, which takes as long as a rule.)"""


class MemoryType(types.Type):
    """The type of a ``Memory``."""

    def __init__(self) -> None:
        super().__init__("Memory")


_ENTRIES = {np.bool_: types.boolean, np.uint64: types.uint64, np.float32: types.float32}


class FieldType(types.Type):
    """The type of ``memory.coins``, which is the memory together with the name of a field."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Field({name})")
        self.start = self.start_per_player = 0
        if name in FIELDS:
            self.field, self.memory = FIELDS[name], "data"
            # The bytes of a game before the field grow by a fixed amount with each player.
            for_two, for_three = (places(players)[name].start for players in (2, 3))
            self.start_per_player = for_three - for_two
            self.start = for_two - 2 * self.start_per_player
        else:
            self.field, self.memory = OUTSIDE[name], name
        self.entry = _ENTRIES.get(self.field.dtype, types.int64)


memory_type = MemoryType()

if TYPE_CHECKING:  # what the functions of this package see

    class Memory(GameState):
        """The fields, and what ``OPTIONS`` names."""

        skip_forced: int
        pays_automatically: int
        max_rounds: int
        first_player_set: int
        log_size: int
        log: Any
        rewards: Any
        margins_seen: Any
else:
    Memory = memory_type

_MEMBERS = [
    ("data", types.CPointer(types.uint8)),
    ("log", types.CPointer(types.int32)),
    *((name, types.CPointer(types.uint8)) for name in OUTSIDE),
    *((name, types.int64) for name in OPTIONS),
]


class _MembersType(types.Type):
    """The type of what a ``Memory`` points to."""

    def __init__(self) -> None:
        super().__init__("MembersOfMemory")


_members_type = _MembersType()


@register_model(_MembersType)
class _MembersModel(models.StructModel):
    def __init__(self, manager: Any, type_: types.Type) -> None:
        super().__init__(manager, type_, _MEMBERS)


@register_model(MemoryType)
@register_model(FieldType)
class _MemoryModel(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: types.Type) -> None:
        super().__init__(manager, type_, manager.lookup(_members_type).get_value_type().as_pointer())


@infer_getattr
class _MemoryAttributes(AttributeTemplate):
    key = MemoryType

    def generic_resolve(self, memory: MemoryType, name: str) -> types.Type | None:
        if name in FIELDS or name in OUTSIDE:
            return FieldType(name)
        return dict(_MEMBERS).get(name)


@lower_getattr_generic(MemoryType)
def _attribute(context: Any, builder: Any, type_: MemoryType, value: Any, name: str) -> Any:
    if name in FIELDS or name in OUTSIDE:
        return value
    return member(context, builder, value, name)


@infer_global(operator.getitem)
class _Read(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        field, index = args
        if isinstance(field, FieldType):
            return signature(field.entry, field, index)
        return None


@infer_global(operator.setitem)
class _Write(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        field, index, value = args
        if isinstance(field, FieldType):
            return signature(types.none, field, index, value)
        return None


@lower_builtin(operator.getitem, FieldType, types.Any)
def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    type_, index_type = sig.args
    entry = tagged(
        builder, builder.load(entry_pointer(context, builder, type_, args[0], index_type, args[1])), type_.name
    )
    if type_.entry is types.boolean:
        return builder.icmp_unsigned("!=", entry, entry.type(0))
    if type_.entry is types.float32:
        return builder.bitcast(entry, ir.FloatType())
    if np.issubdtype(type_.field.dtype, np.signedinteger):
        return builder.sext(entry, ir.IntType(64)) if entry.type.width < 64 else entry
    return builder.zext(entry, ir.IntType(64)) if entry.type.width < 64 else entry


@lower_builtin(operator.setitem, FieldType, types.Any, types.Any)
def _write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    type_, index_type, value_type = sig.args
    pointer = entry_pointer(context, builder, type_, args[0], index_type, args[1])
    value = context.cast(builder, args[2], value_type, type_.entry)
    width = pointer.type.pointee.width
    if type_.entry is types.float32:
        value = builder.bitcast(value, pointer.type.pointee)
    if value.type.width < width:
        value = builder.zext(value, pointer.type.pointee)
    elif value.type.width > width:
        value = builder.trunc(value, pointer.type.pointee)
    tagged(builder, builder.store(value, pointer), type_.name)
    return context.get_dummy_value()


def entry_pointer(context: Any, builder: Any, type_: FieldType, value: Any, index_type: Any, index: Any) -> Any:
    """The pointer to the entry at an index."""
    if isinstance(index_type, types.BaseTuple):
        parts = [
            context.cast(builder, builder.extract_value(index, i), part, types.int64)
            for i, part in enumerate(index_type.types)
        ]
    else:
        parts = [context.cast(builder, index, index_type, types.int64)]
    axes = type_.field.axes
    if len(parts) != len(axes) + 1:
        raise TypeError(f"{type_} has {len(axes) + 1} indices, not {len(parts)}")
    number = ir.IntType(64)
    row: Any = number(0)
    for axis, part in zip(axes, parts, strict=False):
        row = builder.add(
            builder.mul(row, member(context, builder, value, "num_players") if isinstance(axis, str) else number(axis)),
            part,
        )
    return _pointer(context, builder, type_, value, row, parts[-1])


def tagged(builder: Any, instruction: Any, name: str) -> Any:
    """Tell LLVM that no entry of another name is the same memory."""
    module = builder.module
    root = module.add_metadata(["megaland"])
    kind = module.add_metadata([name, root, ir.IntType(64)(0)])
    instruction.set_metadata("tbaa", module.add_metadata([kind, kind, ir.IntType(64)(0)]))
    return instruction


def member(context: Any, builder: Any, value: Any, name: str) -> Any:
    """Load a member of the memory."""
    index = [member for member, _ in _MEMBERS].index(name)
    pointer = builder.gep(value, [ir.IntType(32)(0), ir.IntType(32)(index)], inbounds=True)
    return tagged(builder, builder.load(pointer), "member")


def _pointer(context: Any, builder: Any, type_: FieldType, value: Any, row: Any, game: Any) -> Any:
    """The pointer to an entry: ``(start + row * size) * num_games + game * size`` bytes from the first (state.py)."""
    number = ir.IntType(64)
    size = number(type_.field.size)
    start = builder.add(
        number(type_.start),
        builder.mul(number(type_.start_per_player), member(context, builder, value, "num_players")),
    )
    offset = builder.mul(builder.add(start, builder.mul(row, size)), member(context, builder, value, "num_games"))
    offset = builder.add(offset, builder.mul(game, size))
    pointer = builder.gep(member(context, builder, value, type_.memory), [offset])
    return builder.bitcast(pointer, ir.IntType(8 * type_.field.size).as_pointer())


def _memory_of(typing_context: Any, state_bytes: Any, options: Any, log: Any, rewards: Any, margins_seen: Any) -> Any:
    """Make a ``Memory``. It must not outlive the call of the function that makes it.

    Args:
        typing_context: given by Numba.
        state_bytes: ``GameState.bytes``.
        options: (7,) int64, the numbers that ``OPTIONS`` names.
        log: int32, where events are written (events.py).
        rewards: (P, N) float32.
        margins_seen: (P, N) int16.
    """
    return signature(memory_type, state_bytes, options, log, rewards, margins_seen), _make_memory


memory_of: Callable[[Any, Any, Any, Any, Any], Memory] = intrinsic(_memory_of)


def _memory_to_read(typing_context: Any, state_bytes: Any, options: Any) -> Any:
    """Make a ``Memory`` for functions that only read the state: it has no log and no rewards."""
    return signature(memory_type, state_bytes, options), _make_memory


memory_to_read: Callable[[Any, Any], Memory] = intrinsic(_memory_to_read)


def _make_memory(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    memory = cgutils.create_struct_proxy(_members_type)(context, builder)
    arrays = [context.make_array(type_)(context, builder, arg) for type_, arg in zip(sig.args, args, strict=True)]
    memory.data = arrays[0].data
    for name, array in zip(("log", *OUTSIDE), arrays[2:], strict=False):
        setattr(memory, name, builder.bitcast(array.data, getattr(memory, name).type))
    for i, name in enumerate(OPTIONS):
        setattr(memory, name, builder.load(builder.gep(arrays[1].data, [ir.IntType(64)(i)])))
    return memory._getpointer()


@compiled
def all_in_range(memory: Memory, games: Ints, seats: Ints) -> bool:
    """Whether there are all the games and seats (M,)."""
    in_range = True
    for i in range(len(games)):
        in_range &= (0 <= games[i] < memory.num_games) & (0 <= seats[i] < memory.num_players)
    return in_range


def _clear(typing_context: Any, memory: Any, game: Any) -> Any:
    """Set all entries of a game to 0."""

    def make(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        for name in FIELDS:
            field = FieldType(name)
            rows: Any = ir.IntType(64)(1)
            for axis in field.field.axes:
                players = member(context, builder, args[0], "num_players")
                rows = builder.mul(rows, players if isinstance(axis, str) else ir.IntType(64)(axis))
            first = _pointer(context, builder, field, args[0], ir.IntType(64)(0), args[1])
            stride = member(context, builder, args[0], "num_games")
            with cgutils.for_range(builder, rows) as loop:
                pointer = builder.gep(first, [builder.mul(loop.index, stride)])
                tagged(builder, builder.store(pointer.type.pointee(0), pointer), field.name)
        return context.get_dummy_value()

    return signature(types.none, memory, types.int64), make


clear: Callable[[Memory, int], None] = intrinsic(_clear)
