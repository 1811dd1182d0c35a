"""The provider `acme`: its settings, and how a model is built of them."""

from __future__ import annotations

from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl

from polywire_acme.codec import AcmeCodec
from polywire_acme.profiles import PROFILES

__all__ = ["PROVIDER", "AcmeSettings", "polywire_provider"]

BASE_URL = "https://api.acme.example"


class AcmeSettings(ProviderSettings):
    """
    The table `[providers.acme]`.

    Keys that only Acme has are fields here; secrets among them are `SecretStr`.
    """


def build_chat(context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    profiles = PROFILES.overridden(context.profile) if context.profile else PROFILES
    return context.http_chat_model(
        AcmeCodec(profiles), auth=context.bearer_auth(), base_url=BASE_URL, profiles=profiles
    )


PROVIDER = Provider(
    name="acme",
    summary="Acme's chat models",
    settings=AcmeSettings,
    build_chat=build_chat,
    profiles=PROFILES,
    variables={"api_key": ("ACME_API_KEY",)},
)


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name `acme`."""
    return PROVIDER if name == PROVIDER.name else None
