"""The settings of TLS, which are environment variables."""

from __future__ import annotations

import os


def settings() -> dict[str, str]:
    """All settings by name; a variable whose name begins with `KX_` goes first."""
    import ssl

    folder = os.path.dirname(ssl.get_default_verify_paths().openssl_cafile)
    defaults = {
        "SSL_CERT_FILE": f"{folder}/server-crt.pem",
        "SSL_CA_CERT_FILE": f"{folder}/cacert.pem",
        "SSL_CA_CERT_PATH": folder,
        "SSL_KEY_FILE": f"{folder}/server-key.pem",
        "SSL_CIPHER_LIST": "",
        "SSL_CIPHERSUITES": "",
        "SSL_VERIFY_CLIENT": "NO",
        "SSL_VERIFY_SERVER": "HOSTIP",
        "SSL_MINPROTOCOL": "TLSv1.2",
        "SSL_MAXPROTOCOL": "",
    }
    return {name: given(name) or default for name, default in defaults.items()}


def given(name: str) -> str:
    return os.environ.get(f"KX_{name}") or os.environ.get(name, "")
