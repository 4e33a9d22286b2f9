"""Messages of the library in the words of the command: whoever reads of a parameter has typed an option."""

import re

_OPTIONS = {  # by parameter, where no other word is written like it
    "batch_size": "--batch-size",
    "class_weight": "--class-weight",
    "hidden_layer_sizes": "--hidden",
    "learning_rate_init": "--learning-rate",
    "max_iter": "--epochs",
    "n_iter_no_change": "--patience",
    "predict_proba": "--proba",
    "random_state": "--seed",
}
_PHRASES = {"leave out resume=True": "give --checkpoint instead", "unknown solver": "unknown --optimizer"}
_OTHERS = (  # which are meant where a value, or at least a =, follows
    "activation|dropout|drop|exposure|initializer|l1|l2|loss|metric|model|offset|solver|task|text|threshold|valid|weights"
)
_QUOTED = r"(?<!\w)'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_FOUND = re.compile(
    rf"(?P<phrase>{'|'.join(map(re.escape, _PHRASES))})"
    rf"|^(?P<first>{_OTHERS}|seed|threads) (?=must )"
    rf"|\b(?P<name>{'|'.join(_OPTIONS)}|{_OTHERS})=(?P<value>{_QUOTED}|[-+\w.]+)?"
    rf"|\b(?P<own>{'|'.join(_OPTIONS)})\b"
    rf"|(?P<quoted>{_QUOTED})"
)


def in_options(message: str) -> str:
    """Return a message with options for parameters, --model mlp for model='mlp'; names in quotes stay."""
    return _FOUND.sub(_translated, message)


def option_of(parameter: str) -> str:
    """What the command calls a parameter."""
    return _OPTIONS.get(parameter, "--optimizer" if parameter == "solver" else f"--{parameter.replace('_', '-')}")


def _translated(found: "re.Match[str]") -> str:
    if found["phrase"]:
        return _PHRASES[found["phrase"]]
    if found["first"]:
        return f"{option_of(found['first'])} "
    if found["quoted"]:
        return found["quoted"]
    if found["own"]:
        return _OPTIONS[found["own"]]
    value = found["value"] or ""
    return f"{option_of(found['name'])} {value.strip(chr(39) + chr(34))}".rstrip()
