"""Checks of a namespace's settings, for `Scheme.context` of built-in schemes and of plug-ins.

Every function raises InvalidData, which names the setting and its allowed values::

    full = with_defaults(self.defaults, settings)
    full["digits"] = number(full, "digits", 1, 9)
    full["order"] = choice(full, "order", "year", "number")

Settings are text. `number`, `choice` and `flag` return the text to store, and do not change the mapping.
"""

from collections.abc import Mapping, Sequence

from idstore.errors import InvalidData


def with_defaults(
    defaults: Mapping[str, str], settings: Mapping[str, str], *, also: Sequence[str] = ()
) -> dict[str, str]:
    """Return a new mapping: the defaults, overridden by the settings.

    Raises InvalidData for an unknown setting.

    also  settings that may be given and have no default. The result has them only if they were given.
    """
    allowed = [*defaults, *also]
    for name in settings:
        if name not in allowed:
            remedy = f"there are {', '.join(allowed)}" if allowed else "this scheme has none"
            raise InvalidData(f"there is no setting {name!r}; {remedy}", setting=name)
    return {**defaults, **settings}


def number(settings: Mapping[str, str], name: str, lowest: int, highest: int) -> str:
    """Return the setting ``name`` as a whole number from ``lowest`` to ``highest``, without leading zeros.

    Raises InvalidData. Only the digits 0 to 9 are allowed: no sign, no space.
    """
    text = settings[name]
    if (
        text.isascii()
        and text.isdigit()
        and len(text) <= len(str(highest))
        and lowest <= int(text) <= highest
    ):
        return str(int(text))
    raise InvalidData(
        f"the setting {name}={text!r} must be a whole number from {lowest} to {highest}",
        setting=name,
        value=text,
    )


def choice(settings: Mapping[str, str], name: str, *choices: str) -> str:
    """Return the setting ``name``, which must be one of the choices, exactly as written there.

    Raises InvalidData.
    """
    text = settings[name]
    if text in choices:
        return text
    raise InvalidData(
        f"the setting {name}={text!r} must be one of {', '.join(choices)}", setting=name, value=text
    )


def flag(settings: Mapping[str, str], name: str) -> str:
    """Return the setting ``name``, which must be ``true`` or ``false``. Raises InvalidData."""
    return choice(settings, name, "true", "false")
