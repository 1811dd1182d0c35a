"""The forms by name, as profiles give them in `tool_markup`."""

# ruff: noqa: RUF001 - the tokens are spelled with these characters
from __future__ import annotations

from collections.abc import Mapping

from polywire.errors import SettingsError, did_you_mean
from polywire.markup.element_forms import ArgumentKeyForm, FunctionElementForm, InvokeForm
from polywire.markup.json_forms import BracketForm, JsonTagForm, PythonTagForm
from polywire.markup.pieces import Form
from polywire.markup.token_forms import ChannelForm, SectionForm, SeparatorForm

__all__ = ["FORMS", "form_named"]

FORMS: Mapping[str, Form] = {
    "hermes": JsonTagForm(),
    "qwen_xml": FunctionElementForm(),
    "glm": ArgumentKeyForm(),
    "kimi": SectionForm(),
    "deepseek": SeparatorForm(),
    "dsml": InvokeForm(("｜DSML｜function_calls", "｜DSML｜tool_calls"), prefix="｜DSML｜", typed=True),
    "mistral": BracketForm(),
    "llama": PythonTagForm(),
    "minimax": InvokeForm(("minimax:tool_call",)),
    "invoke": InvokeForm(("function_calls",)),
    "harmony": ChannelForm(),
}
"""Every form that is read and written, by name."""


def form_named(name: str) -> Form:
    """
    Return the form of this name.

    Raises:
        SettingsError: there is none; the message names the nearest one.
    """
    form = FORMS.get(name)
    if form is None:
        msg = f"unknown tool markup {name!r}{did_you_mean(name, FORMS)}"
        raise SettingsError(msg)
    return form
