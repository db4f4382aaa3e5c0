"""Who sends a request: nobody, a party that signed in, or on the store's socket the named party."""

from idstore.server.sign_in.caller import Caller as Caller
from idstore.server.sign_in.caller import counted_as as counted_as
from idstore.server.sign_in.sign_in import SignIn as SignIn
from idstore.server.sign_in.sign_in import SocketSignIn as SocketSignIn
from idstore.server.sign_in.sign_in import is_local as is_local
from idstore.server.sign_in.token_way import TokenWay as TokenWay
