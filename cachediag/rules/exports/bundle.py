"""One Python file out of several modules of this package: those that a script is made of.

The modules' own text is carried over, statement by statement, as far as the script uses it. What
they import of one another falls away, as everything stands in one file; a name that two of them
give to different things is told apart by its module's. In the place of a module that needs more
than the standard library stands a plain one.
"""

import builtins
import re
from collections import Counter, defaultdict
from collections.abc import Mapping

from cachediag.rules.exports.statements import Module, Reference, Statement

__all__ = ["bundle"]

_PLAIN = {"cachediag.protocol.jsontext": "cachediag.rules.exports.plain_json"}
_NOQA = re.compile(r"  # (?:noqa|type: ignore)\b.*")

_Thing = tuple[str, str]
"""A module, and a name at its top."""


def bundle(entry: str, replaced: Mapping[str, str]) -> str:
    """Make one file of a module and all that it uses of this package.

    Args:
        entry: the module's dotted name; all of it is carried over.
        replaced: name → source of the statement that stands in the place of the one that
            defines it.

    Raises:
        ValueError: the modules are written in a way that cannot be carried over.
    """
    modules: dict[str, Module] = {}
    _load(entry, modules)
    kept = _reached(modules, entry)
    names = _told_apart(modules, kept)
    parts = []
    for module in modules.values():
        texts = [_text(module, each, names, replaced) for each in kept[module.name]]
        if texts:
            parts.append(f"# {module.name}\n\n\n{''.join(texts).strip()}\n")
    return "\n\n".join((_imports(modules, kept), *parts))


def _load(name: str, modules: dict[str, Module]) -> None:
    """Read a module behind those that it imports from."""
    if name not in modules:
        module = Module(name)
        for needed in sorted(module.needs):
            _load(_PLAIN.get(needed, needed), modules)
        modules[name] = module


def _thing(reference: Reference) -> _Thing:
    return _PLAIN.get(reference.module, reference.module), reference.name


def _reached(modules: Mapping[str, Module], entry: str) -> dict[str, list[Statement]]:
    """The statements that are used, by module and in their order."""
    defined = {
        (module.name, name): each
        for module in modules.values()
        for each in module.statements
        for name in each.names
    }
    reached = set(modules[entry].statements)
    waiting = list(reached)
    while waiting:
        for reference in waiting.pop().references:
            thing = _thing(reference)
            if thing not in defined:
                raise ValueError(f"{thing[1]} is not defined in {thing[0]} itself")
            if defined[thing] not in reached:
                reached.add(defined[thing])
                waiting.append(defined[thing])
    return {
        module.name: [each for each in module.statements if each in reached]
        for module in modules.values()
    }


def _told_apart(
    modules: Mapping[str, Module], kept: Mapping[str, list[Statement]]
) -> dict[_Thing, str]:
    """What everything is called in the one file."""
    things = [(name, each) for name, held in kept.items() for one in held for each in one.names]
    by_module = {
        _thing(reference)
        for held in kept.values()
        for each in held
        for reference in each.references
        if reference.by_module
    }
    taken = Counter(name for _, name in things)
    taken.update(dir(builtins))
    taken.update({here for module in modules.values() for here in module.others})
    names = {}
    for module, name in things:
        # A local variable of another module may have the name of what it calls `module.name`.
        is_free = taken[name] == 1 and (module, name) not in by_module
        names[module, name] = name if is_free else _longer(module, name)
    doubled = [name for name, times in Counter(names.values()).items() if times > 1]
    if doubled:
        raise ValueError(f"several modules define {doubled}")
    for module, held in kept.items():
        for each in held:
            for reference in each.references:
                was = reference.name
                if names[_thing(reference)] != was and was in each.bound - each.names:
                    raise ValueError(f"{module}: {was} means two things in one statement")
    return names


def _longer(module: str, name: str) -> str:
    stem = module.rpartition(".")[2]
    return f"_{stem}{name}" if name.startswith("_") else f"{stem}_{name}"


def _text(
    module: Module, statement: Statement, names: Mapping[_Thing, str], replaced: Mapping[str, str]
) -> str:
    lines = module.lines[statement.first : statement.end]
    for name in statement.names & replaced.keys():
        head = b"".join(lines[: statement.start - statement.first]).decode()
        return head + replaced[name]
    for reference in sorted(set(statement.references), reverse=True):
        number, new = reference.line - statement.first, names[_thing(reference)].encode()
        line = lines[number]
        lines[number] = line[: reference.start] + new + line[reference.end :]
    return _NOQA.sub("", b"".join(lines).decode())


def _imports(modules: Mapping[str, Module], kept: Mapping[str, list[Statement]]) -> str:
    """The import statements of all modules, of what is used."""
    found: dict[str, set[str]] = defaultdict(set)
    meanings: dict[str, tuple[str, str]] = {}
    for name, held in kept.items():
        used = {use for each in held for use in each.uses}
        for here in used & modules[name].others.keys():
            meaning = modules[name].others[here]
            if meanings.setdefault(here, meaning) != meaning:
                raise ValueError(f"{name}: {here} means something else in another module")
            found[meaning[0]].add(meaning[1])
    plain = [f"import {name}" for name in sorted(found.pop("", ()))]
    return (
        "\n".join(
            plain
            + [f"from {name} import {', '.join(sorted(found[name]))}" for name in sorted(found)]
        )
        + "\n"
    )
