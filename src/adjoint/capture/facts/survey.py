"""The state that a function can reach, looked at before it is captured and compared afterwards.

What a function depends on besides its traced arguments is found from its code: the names it reads,
the attributes it may ask for, the functions that it may enter by those names, and so on. Everything
that is found there is a fact: functions by their code, immutable values by value, containers and
objects by content, arrays by their bits. Only what cannot be compared (an iterator, a file, a
generator of random numbers) makes the function one that cannot be replayed.

    survey = Survey(function, args, kwargs, ...)
    survey.check(function, args, kwargs)       # None while all is as it was
    survey.hindrances                          # why it cannot be told
"""

from __future__ import annotations

import builtins
import types
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import is_numeric
from adjoint.base.pytrees import is_leaf
from adjoint.capture.bytecode.code import original_of, reads_of
from adjoint.capture.clones.entering.users import is_ours, is_users, is_users_module
from adjoint.capture.clones.rebinding import Rebound
from adjoint.capture.facts.functions import (
    attributes_of_class,
    dispatching,
    has_rule,
    imported,
    own_attributes,
    own_cells,
    wrapped,
)
from adjoint.capture.facts.kinds import KINDS_OF_VALUE, memory_facts, other, registered
from adjoint.capture.facts.places import Getter, Holder, Place, can_hold, is_data, is_large
from adjoint.capture.facts.purity import is_pure_module
from adjoint.capture.facts.said import absent_facts, said_facts, settings_facts
from adjoint.capture.facts.settled import asked_by_scipy, may_change, module_may_change, settled
from adjoint.capture.facts.surveying import Running, Surveying, is_users_module_dict
from adjoint.capture.facts.writing import Check, FactWriter, TooManyFactsError, never
from adjoint.capture.recording.effects.script import GLOBAL

_SHOWN_AS_TEXT: Final = frozenset({"__repr__", "__str__", "__format__"})
_NEVER_ASKED: Final = frozenset(
    {
        *("__del__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__doc__"),
        *("__copy__", "__deepcopy__", "__class_getitem__", "__sizeof__", "__dir__"),
    }
)
_CONSTRUCTS: Final = frozenset({"__init__", "__new__", "__post_init__"})


class Hindrance(NamedTuple):
    """Why a function cannot be replayed. line: where, as file:line, if it is known."""

    text: str
    line: str = ""


class With(NamedTuple):
    """A function, and what else what is done with it depends on, such as a space."""

    function: Any
    extra: Any


class Survey(Surveying):
    """The facts of a function and its arguments.

    function: the user's, or `With` something else. traced: which positional arguments hold arrays
    and numbers that are inputs; None for all arguments. cells: names in the function's closure
    whose contents are inputs. wide: places of data that are inputs; all of them are in `data`, as
    far as there is one of a name, what has many bytes in `large`, and inputs in `inputs`. A
    function may be `Running`: traced values are no hindrance then, but `traced`, by their names.
    """

    def __init__(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        traced: frozenset[int] | None,
        cells: frozenset[str] = frozenset(),
        wide: frozenset[str] = frozenset(),
    ) -> None:
        self.writer = FactWriter()
        self._inputs = cells  # until the function has been looked at, which is first
        self._own_input: Any = None
        self._wide = wide
        self.data: dict[str, int] = {}
        self.large: set[str] = set()
        self.inputs: list[Place] = []
        self.hindrances: list[Hindrance] = []
        self.codes: dict[int, types.CodeType] = {}
        self.attributes: set[str] = set()
        self.whole = self.texts = self.identities = self.fails = False
        self._plain_functions: list[tuple[str, str]] = []  # that have no attributes, in the check
        self.bytes = 0
        self.seen: dict[int, tuple[Any, str]] = {}
        self.changing: list[tuple[str, bool]] = []
        self.arrays: list[tuple[str, Any]] = []  # by their names in the check
        self.generators: list[Any] = [*GLOBAL]
        self.within = type(function) is Running
        self.traced: list[str] = []
        self._entered: set[tuple[int, int]] = set()
        self._names: set[tuple[int, str]] = set()
        self._builtins: dict[int, tuple[Any, dict[str, None]]] = {}
        self._holders: list[Holder] = []
        self._held: set[int] = set()
        self._constructed: set[int] = set()  # the classes that may be called
        try:
            self._root(function)
            self._arguments(args, kwargs, traced)
            self._settle()
            self._finish()
        except (TooManyFactsError, RecursionError):
            self.hinder("it reaches too many objects to compare at every call")
        self.check: Check = self.writer.check() if not self.hindrances else never
        # What was looked at is let go of: arrays that one name alone refers to may be written into.
        self.seen, self.arrays, self._holders = {}, [], []

    def check_but_types(self) -> Check:
        """The check without the types of arrays that are inputs, for who checks them as well."""
        return self.writer.check(typed=False)

    def getter_of(self, names: list[str]) -> Getter:
        """What finds what has these names in the check, where the facts hold."""
        return self.writer.getter(names) or _nothing

    def asked_builtins(self) -> set[str]:
        """The builtins whose names code may look up."""
        return {name for _, asked in self._builtins.values() for name in asked}

    def getter(self) -> Getter | None:
        """What finds the data that are inputs, at a call whose facts hold; None without any."""
        return self.writer.getter([place.expression for place in self.inputs])

    @property
    def facts(self) -> list[Any]:
        """What is compared, one fact after another."""
        return self.writer.facts

    def hinder(self, text: str, where: str = "") -> None:
        """Note why the function cannot be replayed."""
        self.hindrances.append(Hindrance(f"{where}: {text}" if where else text))

    def _root(self, function: Any) -> None:
        if type(function) is Running:
            self._enter(function.code, function.names)
        elif type(function) is With:
            self.writer.demand("type(function) is not With", "the function", "kind")
            self.writer.values["With"] = With
            self.visit(function.function, "function[0]", _name(function.function))
            self.visit(function.extra, "function[1]", "space")
        else:
            self.visit(function, "function", _name(function))

    # --- arguments -------------------------------------------------------------------------------

    def _arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], traced: frozenset[int] | None
    ) -> None:
        writer = self.writer
        writer.demand(f"len(args) != {len(args)}", "the arguments", "number")
        for place, value in enumerate(args):
            inputs = traced is None or place in traced
            self.visit(value, f"args[{place}]", f"argument {place}", inputs)
        if kwargs:
            names = writer.constant(list(kwargs))
            writer.demand(f"[*kwargs] != {names}", "the arguments", "names")
        else:
            writer.demand("kwargs", "the arguments", "names")
        for name, value in kwargs.items():
            self.visit(value, f"kwargs[{name!r}]", f"argument {name}", traced is None)

    # --- values ----------------------------------------------------------------------------------

    def visit(self, value: Any, expression: str, where: str, traced: bool = False) -> None:
        """Note what a value is. traced: whether arrays and numbers in it are inputs."""
        if traced and is_numeric(value):
            self._input(value, expression, where)
            return
        traced = traced and not is_leaf(value)  # whose attributes are no inputs
        kind = type(value)
        if (look := KINDS_OF_VALUE.get(kind)) is not None:
            look(self, value, expression, where, traced)
        elif kind is types.FunctionType:
            self._function(value, expression, where)
        elif isinstance(value, types.ModuleType):
            self._module(value, expression, where)
        elif isinstance(value, type):
            self._class(value, expression, where)
        else:
            other(self, value, expression, where, traced)

    def place(
        self, value: Any, expression: str, where: str, container: Any, key: str | None
    ) -> None:
        """Note what a value is that may be data, in a place where something else can be put."""
        if is_data(value) and can_hold(container):
            self.data[where] = self.data.get(where, 0) + 1
            self.large |= {where} if is_large(value) else set()
            if where in self._wide:
                self.inputs.append(Place(where, container, key, expression))
                self._input(value, expression, where)
                return
        self.visit(value, expression, where)

    def _input(self, value: Any, expression: str, where: str) -> None:
        """An array or number that is an input: only its type matters."""
        writer = self.writer
        kind = type(value)
        if kind is np.ndarray:
            start = len(writer.lines)
            name = writer.let(expression)
            dtype, shape = writer.constant(value.dtype), value.shape
            unlike = f"type({name}) is not ndarray or {name}.shape != {shape}"
            writer.demand(
                f"{unlike} or ({name}.dtype is not {dtype} and {name}.dtype != {dtype})",
                where,
                f"type {value.dtype}{list(shape)}",
            )
            if shape:
                writer.typed.update(range(start, len(writer.lines)))
        else:
            unlike = f"type({expression}) is not {writer.constant(kind)}"
            writer.demand(unlike, where, f"type {kind.__name__}")

    # --- functions -------------------------------------------------------------------------------

    def _function(self, value: Any, expression: str, where: str) -> None:
        if value is self._own_input:
            self.hinder("it refers to itself, and to data that change from call to call", where)
        name = self.once(value, expression, where)
        if name is None:
            return
        writer = self.writer
        if self.within:
            own_attributes(self, value, name, where)
        if type(value.__globals__) is Rebound:
            self._captured_function(value, name, where)
            return
        if has_rule(self, value, name, where, self.codes) or settled(self, value, name, where):
            return
        ours = is_ours(value)
        if not (ours or is_users(value)):
            writer.demand(f"{name} is not {writer.constant(value)}", where, "function")
            if hasattr(value, "registry"):
                dispatching(self, value, name, where)
            if "__wrapped__" in value.__dict__ or value.__closure__:
                wrapped(self, value, name, where)
            return
        code = writer.constant(value.__code__)
        writer.demand(f"{name}.__code__ is not {code}", where, "code")
        cells = value.__closure__ or ()
        if cells:
            closure = writer.let(f"{name}.__closure__")
        if ours:
            own_cells(self, value, closure if cells else "", where)
            return
        unlike = f"{name}.__globals__ is not {writer.constant(value.__globals__)}"
        writer.demand(unlike, where, "module")
        self._defaults(value, name, where)
        inputs, self._inputs = self._inputs, frozenset()
        self._own_input = value if inputs else self._own_input
        for number, (free, cell) in enumerate(zip(value.__code__.co_freevars, cells, strict=True)):
            self.cell(cell, f"{closure}[{number}]", free, free in inputs)
        self._attributes_of_function(value, name, where)
        self._enter(value.__code__, value.__globals__)

    def _captured_function(self, value: Any, name: str, where: str) -> None:
        """A function that was made while another was captured: it has a clone's code."""
        original = original_of(value.__code__)
        if not self.within or original is None:
            self.hinder("a function that was made while another was captured", where)
            return
        writer = self.writer
        writer.demand(f"{name}.__code__ is not {writer.constant(value.__code__)}", where, "code")
        names = writer.constant(value.__globals__)
        writer.demand(f"{name}.__globals__ is not {names}", where, "module")
        self._defaults(value, name, where)
        for number, cell in enumerate(value.__closure__ or ()):
            free = value.__code__.co_freevars[number]
            self.cell(cell, f"{name}.__closure__[{number}]", free)
        self._attributes_of_function(value, name, where)
        self._enter(original, value.__globals__.original)

    def _defaults(self, value: Any, name: str, where: str) -> None:
        self.visit(value.__defaults__, f"{name}.__defaults__", f"{where}.__defaults__")
        self.visit(value.__kwdefaults__, f"{name}.__kwdefaults__", f"{where}.__kwdefaults__")

    def _attributes_of_function(self, value: Any, name: str, where: str) -> None:
        if value.__dict__:
            self.hold(value, value.__dict__, writer_name := f"{name}.__dict__", where)
            keys = self.writer.constant(frozenset(value.__dict__))
            self.writer.demand(f"{writer_name}.keys() != {keys}", where, "attributes")
        else:
            self._plain_functions.append((name, where))

    def _enter(self, code: types.CodeType, names: dict[str, Any]) -> None:
        """Note what code may look up that may be run."""
        key = (id(code), id(names))
        if key in self._entered:
            return
        self._entered.add(key)
        reads = reads_of(code)
        self.codes.update({id(nested): nested for nested in reads.codes})
        self.attributes |= reads.attributes
        self.whole, self.texts = self.whole or reads.whole, self.texts or reads.texts
        self.identities = self.identities or reads.identities
        self.fails = self.fails or reads.fails
        for name in sorted(reads.names):
            self._name(names, name, name in reads.bare)
        for chain in sorted(reads.chains, key=len):
            self._chain(names, chain)
        for name in sorted(reads.imports):
            imported(self, name)

    # --- names -----------------------------------------------------------------------------------

    def _name(self, names: dict[str, Any], name: str, bare: bool) -> None:
        if (id(names), name) in self._names:
            return
        self._names.add((id(names), name))
        space = self.writer.constant(names)
        if name in names:
            value = names[name]
            expression = f"{space}[{name!r}]"
            if isinstance(value, types.ModuleType) and not bare and not is_users_module(value):
                unlike = f"{expression} is not {self.writer.constant(value)}"
                self.writer.demand(unlike, name, "module")
            else:
                self.place(value, expression, name, names, name)
            return
        own = self._builtins.setdefault(id(names), (names, {}))
        own[1][name] = None

    def _chain(self, names: dict[str, Any], chain: tuple[str, ...]) -> None:
        """`np.linalg.solve`: what a module has under a name."""
        if (id(names), chain[0]) not in self._names or chain[0] not in names:
            return
        value = names[chain[0]]
        for place, name in enumerate(chain[1:], 1):
            if not isinstance(value, types.ModuleType):
                return
            inside = vars(value)
            if name not in inside:
                absent_facts(self, inside, (name,), ".".join(chain[: place + 1]))
                return
            value = inside[name]
            if (id(inside), name) not in self._names:
                self._names.add((id(inside), name))
                self._member(inside, name, ".".join(chain[: place + 1]))

    def _member(self, inside: dict[str, Any], name: str, where: str) -> None:
        value = inside[name]
        expression = f"{self.writer.constant(inside)}[{name!r}]"
        users = is_users(value) if type(value) is types.FunctionType else False
        if users or is_users_module_dict(inside):
            self.place(value, expression, where, inside, name)
        else:
            self.writer.demand(
                f"{expression} is not {self.writer.constant(value)}", where, "member"
            )

    # --- modules, classes and objects: by the attributes that code may ask for ------------------

    def _module(self, value: Any, expression: str, where: str) -> None:
        self.writer.demand(f"{expression} is not {self.writer.constant(value)}", where, "module")
        if id(value) not in self._held and (
            is_users_module(value) or is_pure_module(value.__name__)
        ):
            self._held.add(id(value))
            self._holders.append(Holder(value, vars(value), "", where, True))

    def _class(self, value: type, expression: str, where: str) -> None:
        self.writer.demand(f"{expression} is not {self.writer.constant(value)}", where, "class")
        self._constructed.update(map(id, value.__mro__))
        registered(self, value, where)
        self.class_facts(value)

    def class_facts(self, value: type) -> None:
        """What the user's classes among a class and those above it define."""
        if self.within:
            attributes_of_class(self, value)
        if id(value) in self._held or not any(map(may_change, value.__mro__)):
            return
        self._held.add(id(value))
        self.attributes |= asked_by_scipy(value)
        name = self.writer.constant(value)
        bases = self.writer.constant(value.__mro__)
        self.writer.demand(f"{name}.__mro__ is not {bases}", value.__name__, "classes above it")
        for base in value.__mro__:
            if may_change(base) and (id(base), "class") not in self._names:
                self._names.add((id(base), "class"))
                inside = self.writer.constant(base.__dict__)
                unlike = f"len({inside}) != {len(base.__dict__)}"
                self.writer.demand(unlike, base.__name__, "attributes")
                self._holders.append(Holder(base, base.__dict__, inside, base.__name__, True))
        if type(value) is not type:
            self.class_facts(type(value))

    def hold(self, value: Any, inside: Any, name: str, where: str) -> None:
        """An object whose attributes are looked at as far as code may ask for them."""
        self._holders.append(Holder(value, inside, name, where, False))

    def _settle(self) -> None:
        """Look at attributes, until no code is found that may ask for others."""
        while True:
            before = self._extent()
            for holder in list(self._holders):
                for name in self._wanted(holder):
                    if name not in holder.done:
                        holder.done.add(name)
                        self._held_attribute(holder, name)
            if before == self._extent():
                return

    def _extent(self) -> tuple[int, ...]:
        counts = map(len, (self.attributes, self._holders, self._constructed, self._names))
        return (*counts, self.whole, self.texts)

    def _wanted(self, holder: Holder) -> list[str]:
        inside = holder.inside
        if isinstance(holder.value, types.ModuleType):
            if self.whole and module_may_change(holder.value):
                return sorted(name for name in inside if not name.startswith("__"))
            return sorted(self.attributes.intersection(inside))
        if not holder.shared:
            return [name for name in inside if self.whole or name in self.attributes]
        wanted = []
        is_constructed = id(holder.value) in self._constructed or self._asks_for_classes
        for name, value in inside.items():
            if name in _CONSTRUCTS and not is_constructed:
                continue
            special = name.startswith("__") and type(value) in _CODE and name not in _NEVER_ASKED
            special = special and (self.texts or name not in _SHOWN_AS_TEXT)
            plain = self.whole and not name.startswith("__")
            if special or plain or name in self.attributes:
                wanted.append(name)
        return wanted

    @property
    def _asks_for_classes(self) -> bool:
        """Whether code may find an object's class, and make another of it."""
        return self.whole or not self.attributes.isdisjoint({"type", "__class__", "__init__"})

    def _held_attribute(self, holder: Holder, name: str) -> None:
        value = holder.inside[name]
        where = f"{holder.where}.{name}"
        if isinstance(holder.value, types.ModuleType):
            inside = vars(holder.value)
            if (id(inside), name) not in self._names:
                self._names.add((id(inside), name))
                self._member(inside, name, where)
            return
        if holder.shared and type(value) in _SLOTS:
            return
        self.place(value, f"{holder.name}[{name!r}]", where, holder.inside, name)

    # --- the end ---------------------------------------------------------------------------------

    def _finish(self) -> None:
        writer = self.writer
        for names, asked in self._builtins.values():
            plain = names.get("__builtins__", builtins)
            plain = plain if isinstance(plain, dict) else vars(plain)
            keys = writer.constant(tuple(asked))
            values = writer.constant([plain.get(name) for name in asked])
            text = ", ".join(asked)
            unlike = f"not {writer.constant(names)}.keys().isdisjoint({keys})"
            writer.demand(unlike, text, "builtins, under no other meaning")
            unlike = f"[*map({writer.constant(plain)}.get, {keys})] != {values}"
            writer.demand(unlike, text, "builtins")
        settings_facts(self, self.texts)
        if self.whole or self.fails:  # else an attribute that is not there would be an error
            for name, where in self._plain_functions:
                writer.demand(f"{name}.__dict__", where, "no attributes")
        memory_facts(self, self.attributes)
        said_facts(self, self._holders, self.attributes, self.asked_builtins())
        objects = [name for name, thing in self.changing if thing or self.identities]
        if len(objects) > 1:
            unlike = f"not distinct({', '.join(objects)})"
            writer.demand(unlike, "objects", "that no two are one")


_CODE: Final = frozenset({types.FunctionType, property, classmethod, staticmethod})
_SLOTS: Final = frozenset(
    {types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType}
)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


def _nothing(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    return ()
