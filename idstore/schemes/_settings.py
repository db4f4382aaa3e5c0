"""Reading a namespace's settings, with errors that name the setting and what it may be."""

from collections.abc import Mapping, Sequence

from idstore.errors import InvalidData


def filled(defaults: Mapping[str, str], given: Mapping[str, str], *, also: Sequence[str] = ()) -> dict[str, str]:
    """The defaults, overridden by what is given. Raises InvalidData for a setting that is neither in them nor in ``also``."""
    known = [*defaults, *also]
    for name in given:
        if name not in known:
            there_are = f"there are {', '.join(known)}" if known else "this scheme has none"
            raise InvalidData(f"there is no setting {name!r}; {there_are}", setting=name)
    return {**defaults, **given}


def number(settings: Mapping[str, str], name: str, lowest: int, highest: int) -> str:
    """A whole number in its plain form. Raises InvalidData."""
    text = settings[name]
    if text.isascii() and text.isdigit() and len(text) <= len(str(highest)) and lowest <= int(text) <= highest:
        return str(int(text))
    raise InvalidData(f"the setting {name}={text!r} must be a whole number from {lowest} to {highest}", setting=name, value=text)


def choice(settings: Mapping[str, str], name: str, *choices: str) -> str:
    """One of the choices. Raises InvalidData."""
    text = settings[name]
    if text in choices:
        return text
    raise InvalidData(f"the setting {name}={text!r} must be one of {', '.join(choices)}", setting=name, value=text)


def flag(settings: Mapping[str, str], name: str) -> str:
    """``true`` or ``false``. Raises InvalidData."""
    return choice(settings, name, "true", "false")
