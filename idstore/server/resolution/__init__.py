"""Resolution: each identifier has an address below the server, in each of its written forms."""
