"""Who is known: the file of users that `-u` and `-U` name, a line `user:password` each, and the token of a file."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import stat
from contextlib import suppress

from kshell.errors import QError

_HEX = re.compile(r"[0-9a-f]{32}$|[0-9a-f]{40}$")
SCRYPT = "$scrypt$"


class Users:
    """Who may connect. The password in the file is plain, MD5 (32 hexadecimal digits), SHA-1 (40), or
    `$scrypt$SALT$KEY` in base64, which is the only safe one of them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._passwords: dict[str, str] = {}
        self.read()

    def read(self) -> None:
        """Read the file, again if it was read before; one that others may write is 'access."""
        try:
            with open(self.path, encoding="utf-8", errors="surrogateescape") as file:
                mode = os.fstat(file.fileno()).st_mode
                lines = file.read().splitlines()
        except OSError as e:
            problem = f"{self.path}. OS reports: {e.strerror}"
        else:
            problem = ""
        if problem:
            raise QError(problem)
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise QError(f"access: {self.path} can be written by others")
        passwords = {}
        for number, line in enumerate(lines, 1):
            user, colon, password = line.partition(":")
            if not colon:
                raise QError(f"{self.path}, line {number}: expected user:password")
            passwords[user] = password
        self._passwords = passwords

    def admits(self, user: str, password: str) -> bool:
        """Is it the password of a user in the file? Takes equally long for unknown users."""
        wanted = self._passwords.get(user)
        given = password.encode("utf-8", "surrogateescape")
        same = hmac.compare_digest(*_both(wanted if wanted is not None else "", given))
        return same and wanted is not None


class Token:
    """A secret text in a file, which is made if it is not there; whoever knows it may connect, by any name."""

    def __init__(self, path: str) -> None:
        problem = ""
        try:
            self._text = _token(path)
        except OSError as e:
            problem = f"{path}. OS reports: {e.strerror}"
        if problem:
            raise QError(problem)

    def is_password(self, password: str) -> bool:
        """Is it the token? Takes equally long for all texts of a length."""
        return hmac.compare_digest(self._text, password.encode("utf-8", "surrogateescape"))


def _token(path: str) -> bytes:
    """The text in the file of a token; 'access if others can read or write it."""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    with open(path, "rb") as file:
        mode, text = os.fstat(file.fileno()).st_mode, file.read().strip()
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise QError(f"access: {path} can be read by others")
    if not text:
        raise QError(f"{path}: expected a token")
    return text


def _both(wanted: str, given: bytes) -> tuple[bytes, bytes]:
    """The stored and the given password, in the same form."""
    if wanted.startswith(SCRYPT):
        salt, _, key = wanted.removeprefix(SCRYPT).partition("$")
        return base64.b64decode(key), scrypt(given, base64.b64decode(salt))
    if _HEX.match(wanted):
        digest = hashlib.md5 if len(wanted) == 32 else hashlib.sha1
        return wanted.encode(), digest(given).hexdigest().encode()
    return wanted.encode("utf-8", "surrogateescape"), given


def scrypt(password: bytes, salt: bytes) -> bytes:
    """The key that a password and a salt make (RFC 7914: N 16384, r 8, p 1, 32 bytes)."""
    return hashlib.scrypt(password, salt=salt, n=1 << 14, r=8, p=1, dklen=32)
