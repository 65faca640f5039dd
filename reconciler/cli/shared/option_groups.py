"""Options that several commands share, declared once: a function's parameters become parameters of each command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_type_hints

Command = TypeVar("Command", bound=Callable[..., Any])


def takes(declaration: Callable[..., Any]) -> Callable[[Command], Command]:
    """Let the decorated command take the options of `declaration`, and get its result under the declaration's name."""
    name, options = declaration.__name__, _parameters(declaration)

    def decorate(command: Command) -> Command:
        own = [parameter for parameter in _parameters(command) if parameter.name != name]

        @wraps(command)
        def with_options(**given: Any) -> Any:
            said = {option.name: given.pop(option.name) for option in options}
            return command(**given, **{name: declaration(**said)})

        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, *options)]
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return with_options  # type: ignore[return-value]

    return decorate


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters, with annotations as objects, because their names mean nothing in another module."""
    hints = get_type_hints(function, include_extras=True)
    return [p.replace(annotation=hints[p.name]) for p in inspect.signature(function).parameters.values()]
