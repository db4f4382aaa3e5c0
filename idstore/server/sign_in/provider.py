"""Asking an OpenID provider: where people sign in, and who its tokens say that they are.

Sources: OpenID Connect Core 1.0; OpenID Connect Discovery 1.0; RFC 7636 (PKCE); RFC 8725 (JWT best
practices).
"""

import json
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from idstore.errors import NotPermitted, SignInUnavailable
from idstore.remedies import Remedy
from idstore.server.sign_in.names import canonical
from idstore.server.sign_in.openid import OpenId, Person

_LOG: Final = logging.getLogger(__name__)
_ALGORITHMS: Final = [
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
]
"""Signatures with the provider's own keys. A shared secret, or no signature, proves nothing."""
_LARGEST: Final = 1 << 20
"""Bytes of an answer of the provider."""
_KEPT: Final = 3600.0
"""Seconds for which the description of the provider and its keys are kept."""
_AGAIN: Final = 30.0
"""Seconds after which keys are asked for again because the kept ones cannot verify a token."""
_LEEWAY: Final = 60
"""Seconds by which the provider's clock may differ."""
_DESCRIPTION: Final = "/.well-known/openid-configuration"


class Provider:
    """Asks a provider. Its methods block, and may be called by any thread."""

    def __init__(self, settings: OpenId) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._described: tuple[float, Mapping[str, Any]] | None = None
        self._keys: tuple[float, Any] | None = None

    def address(self, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Return the address where a person signs in. Raises SignInUnavailable."""
        with self._session(redirect) as session:
            address, _ = session.create_authorization_url(
                self._endpoint("authorization_endpoint"), state=state, nonce=nonce, code_verifier=verifier
            )
        return str(address)

    def person(self, redirect: str, code: str, nonce: str, verifier: str) -> Person:
        """Return the person for a code that the provider gave at the sign-in.

        Raises SignInUnavailable, NotPermitted: the code or the answer is not valid, or the person may not
        sign in.
        """
        try:
            with self._session(redirect) as session:
                token = session.fetch_token(
                    self._endpoint("token_endpoint"),
                    code=code,
                    code_verifier=verifier,
                    grant_type="authorization_code",
                )
        except AuthlibBaseError as error:
            raise NotPermitted(
                f"the provider refused the sign-in ({error.error}); sign in again", remedy=Remedy.SIGN_IN
            ) from None
        except (requests.RequestException, ValueError) as error:
            raise self._unavailable(error) from None
        claims = self._claims(str(token.get("id_token", "")), self.settings.client_id)
        if claims is None or claims.get("nonce") != nonce:
            raise NotPermitted(
                "the provider's answer is not valid for this sign-in; sign in again", remedy=Remedy.SIGN_IN
            )
        person = self._person(claims)
        if person is None:
            raise NotPermitted("this account may not sign in here; ask the operator of the server")
        return person

    def bearer(self, token: str) -> Person | None:
        """Return the person of an access token, None if it is not valid here. Raises SignInUnavailable."""
        claims = self._claims(token, self.settings.audience or self.settings.client_id)
        if claims is None or "nonce" in claims:  # that of a sign-in says who signed in, and permits nothing
            return None
        return self._person(claims)

    def end_address(self, back: str) -> str | None:
        """Return where the provider ends its own session, None if it has no such address."""
        try:
            address = self._description().get("end_session_endpoint")
        except SignInUnavailable:
            return None
        query = urlencode({"client_id": self.settings.client_id, "post_logout_redirect_uri": back})
        return f"{address}?{query}" if isinstance(address, str) else None

    def _person(self, claims: Mapping[str, Any]) -> Person | None:
        """Return the person of claims.

        None: the name is not canonical, or the person is not in the required group.
        """
        settings = self.settings
        given = claims.get(settings.name_claim)
        if settings.name_claim == "email" and claims.get("email_verified") is not True:
            return None
        name = canonical(given) if isinstance(given, str) else None
        listed = claims.get(settings.groups_claim, [])
        groups = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
        if name is None or (settings.required_group and settings.required_group not in groups):
            return None
        return Person(name, frozenset(ours for theirs, ours in settings.groups.items() if theirs in groups))

    def _claims(self, token: str, audience: str) -> Mapping[str, Any] | None:
        """Return the claims of a valid token of the provider, else None. Raises SignInUnavailable."""
        registry = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY,
            iss={"essential": True, "value": self.settings.issuer},
            aud={"essential": True, "value": audience},
            exp={"essential": True},
        )
        for newer in (False, True):
            keys = self._key_set(newer=newer)
            try:
                claims = jwt.decode(token, keys, algorithms=_ALGORITHMS).claims
            except (JoseError, ValueError, TypeError, KeyError):
                continue
            try:
                registry.validate(claims)
            except (JoseError, ValueError, TypeError, KeyError):
                return None
            return dict(claims)
        return None

    def _key_set(self, *, newer: bool = False) -> Any:
        """Return the provider's keys; with ``newer`` asked for again, if they are older than `_AGAIN`."""
        with self._lock:
            kept = self._keys
        limit = _AGAIN if newer else _KEPT
        if kept is None or time.monotonic() - kept[0] > limit:
            try:
                keys = KeySet.import_key_set(self._get(self._endpoint("jwks_uri")))  # type: ignore[arg-type]
            except (JoseError, ValueError, TypeError, KeyError) as error:
                raise self._unavailable(error) from None
            kept = time.monotonic(), keys
            with self._lock:
                self._keys = kept
        return kept[1]

    def _endpoint(self, name: str) -> str:
        address = self._description().get(name)
        if not isinstance(address, str):
            raise self._unavailable(ValueError(f"no {name}"))
        return address

    def _description(self) -> Mapping[str, Any]:
        with self._lock:
            kept = self._described
        if kept is None or time.monotonic() - kept[0] > _KEPT:
            found = self._get(self.settings.issuer.rstrip("/") + _DESCRIPTION)
            if found.get("issuer") != self.settings.issuer:
                raise self._unavailable(ValueError(f"it calls itself {found.get('issuer')!r}"))
            kept = time.monotonic(), found
            with self._lock:
                self._described = kept
        return kept[1]

    def _get(self, address: str) -> Mapping[str, Any]:
        """Return a JSON object at an address of the provider. Raises SignInUnavailable."""
        try:
            found = self._read(address)
        except (requests.RequestException, OSError, ValueError, RecursionError) as error:
            raise self._unavailable(error) from None
        if not isinstance(found, dict):
            raise self._unavailable(ValueError(f"{address} has no object"))
        return found

    def _read(self, address: str) -> object:
        """Return the JSON document at an address. Raises ValueError, OSError, RequestException."""
        with requests.get(
            address, timeout=self.settings.seconds, verify=self._verify, allow_redirects=False, stream=True
        ) as answer:
            if answer.status_code != requests.codes.ok:
                raise ValueError(f"it answered {answer.status_code}")
            content = answer.raw.read(_LARGEST + 1, decode_content=True)
        if len(content) > _LARGEST:
            raise ValueError(f"it answered more than {_LARGEST} bytes")
        found: object = json.loads(content)
        return found

    def _session(self, redirect: str) -> Any:
        settings = self.settings
        session = OAuth2Session(
            settings.client_id,
            None if settings.client_secret is None else settings.client_secret.value,
            scope=settings.scope,
            redirect_uri=redirect,
            code_challenge_method="S256",
            default_timeout=settings.seconds,
        )
        session.verify = self._verify
        session.max_redirects = 0
        return session

    @property
    def _verify(self) -> str | bool:
        return True if self.settings.ca_file is None else str(self.settings.ca_file)

    def _unavailable(self, error: Exception) -> SignInUnavailable:
        _LOG.warning("the provider %s cannot be asked: %s", self.settings.issuer, error)
        return SignInUnavailable(
            "the provider that signs people in does not answer; try again later", retry_after=10
        )
