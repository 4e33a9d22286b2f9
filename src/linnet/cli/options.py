"""Messages of the library in the words of the command: whoever reads of a parameter has typed an option."""

import re
from functools import cache

from linnet.errors import ConfigError

_PHRASES = {"leave out resume=True": "give --checkpoint instead", "unknown solver": "unknown --optimizer"}
_QUOTED = r"(?<!\w)'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""


@cache
def _options() -> dict[str, str]:
    """What the command calls each parameter."""
    from linnet.tables.options import option_names  # when there is a message, and not at every start

    known = {name: f"--{option}" for name, option in option_names().items() if name != "verbose"}
    return {**known, "predict_proba": "--proba", "random_state": "--seed"}


@cache
def _pattern() -> "re.Pattern[str]":
    unmistakable = "|".join(name for name in _options() if "_" in name)  # no other word is written like them
    others = "|".join(name for name in _options() if "_" not in name)  # meant where a value, or at least a =, follows
    return re.compile(
        rf"(?P<phrase>{'|'.join(map(re.escape, _PHRASES))})"
        rf"|^(?P<first>{others}) (?=must )"
        rf"|\b(?P<name>{unmistakable}|{others})=(?P<value>{_QUOTED}|[-+\w.]+)?"
        rf"|\b(?P<own>{unmistakable})\b"
        rf"|(?P<quoted>{_QUOTED})"
    )


def in_options(message: str) -> str:
    """Return a message with options for parameters, --model mlp for model='mlp'; names in quotes stay."""
    try:
        return _pattern().sub(_translated, message)
    except ConfigError:  # the engine itself cannot be loaded, which is what the message is about
        return message


def _translated(found: "re.Match[str]") -> str:
    if found["phrase"]:
        return _PHRASES[found["phrase"]]
    if found["quoted"]:
        return found["quoted"]
    if found["first"]:
        return f"{_options()[found['first']]} "
    if found["own"]:
        return _options()[found["own"]]
    value = found["value"] or ""
    return f"{_options()[found['name']]} {value.strip(chr(39) + chr(34))}".rstrip()
