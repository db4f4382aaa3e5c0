"""The settings of a server that stand in a file: one table for each part of it."""

from dataclasses import dataclass, field
from pathlib import Path

from idstore.server.allowances import AnonymousAllowance, QueryAllowance
from idstore.server.reconciliation import ReconciliationSettings
from idstore.server.resolution.hosts import ResolutionSettings
from idstore.server.settings_file import read_tables
from idstore.server.sign_in.directory import Ldap
from idstore.server.sign_in.openid import OpenId
from idstore.server.sign_in.sessions import SessionSettings
from idstore.server.sign_in.trusted_header import TrustedHeader
from idstore.server.sparql.data_description import DescriptionSettings
from idstore.server.sparql.saved_queries import SavedQueriesSettings


@dataclass(frozen=True, slots=True)
class Settings:
    """The tables of a settings file. A part without a table is off, or has its defaults."""

    trusted_header: TrustedHeader | None = None
    ldap: Ldap | None = None
    openid: OpenId | None = None
    sessions: SessionSettings | None = None
    resolution: ResolutionSettings = field(default_factory=ResolutionSettings)
    queries: QueryAllowance = field(default_factory=QueryAllowance)
    anonymous_queries: AnonymousAllowance = field(default_factory=AnonymousAllowance)
    saved_queries: SavedQueriesSettings | None = None
    description: DescriptionSettings = field(default_factory=DescriptionSettings)
    reconciliation: ReconciliationSettings = field(default_factory=ReconciliationSettings)


def read_settings(path: Path) -> Settings:
    """Return the settings in a TOML file. Raises InvalidData, with file, table, key and remedy."""
    return read_tables(path, Settings)
