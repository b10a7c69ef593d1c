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
        self._passwords: dict[str, Password] = {}
        self._is_slow = False  # is one of them checked by scrypt?
        self.read()

    def read(self) -> None:
        """Read the file, again if it was read before; one that others own or may write is 'access."""
        try:
            with open(self.path, encoding="utf-8", errors="surrogateescape") as file:
                status = os.fstat(file.fileno())
                lines = file.read().splitlines()
        except OSError as e:
            problem = f"{self.path}. OS reports: {e.strerror}"
        else:
            problem = ""
        if problem:
            raise QError(problem)
        _must_be_ours(self.path, status)
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise QError(f"access: {self.path} can be written by others")
        passwords = {}
        for number, line in enumerate(lines, 1):
            user, colon, password = line.partition(":")
            problem = "" if colon else "expected user:password"
            try:
                passwords[user] = Password(password)
            except ValueError:
                problem = f"expected {SCRYPT}SALT$KEY, both in base64"
            if problem:
                raise QError(f"{self.path}, line {number}: {problem}")
        self._passwords = passwords
        self._is_slow = any(known.salt is not None for known in passwords.values())

    def admits(self, user: str, password: str) -> bool:
        """Is it the password of a user in the file? Takes equally long for unknown users, and for those whose password
        is not stored as that of others."""
        known = self._passwords.get(user)
        wanted = known or Password("")
        given = password.encode("utf-8", "surrogateescape")
        if self._is_slow and wanted.salt is None:
            scrypt(given, b"kshell")
        return wanted.agrees(given) and known is not None


class Password:
    """A password of the file. ValueError if it is that of scrypt without a salt and a key."""

    def __init__(self, text: str) -> None:
        self._stored = text.encode("utf-8", "surrogateescape")
        self.salt: bytes | None = None  # of scrypt
        self._digest = hashlib.md5 if len(text) == 32 else hashlib.sha1
        self._is_hex = _HEX.match(text) is not None
        if text.startswith(SCRYPT):
            salt, _, key = text.removeprefix(SCRYPT).partition("$")
            self.salt, self._stored = _decoded(salt), _decoded(key)

    def agrees(self, given: bytes) -> bool:
        """Is it this one?"""
        if self.salt is not None:
            given = scrypt(given, self.salt)
        elif self._is_hex:
            given = self._digest(given).hexdigest().encode()
        return hmac.compare_digest(self._stored, given)


def _decoded(text: str) -> bytes:
    """The bytes of a text in base64, of which there must be some."""
    data = base64.b64decode(text, validate=True)
    if not data:
        raise ValueError
    return data


def _must_be_ours(path: str, status: os.stat_result) -> None:
    """'access for a file that belongs to neither the user of this process nor root."""
    if status.st_uid not in (0, os.getuid()):
        raise QError(f"access: {path} belongs to another user")


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
    """The text in the file of a token; 'access if others own it, or can read or write it."""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    with open(path, "rb") as file:
        status, text = os.fstat(file.fileno()), file.read().strip()
    _must_be_ours(path, status)
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise QError(f"access: {path} can be read by others")
    if not text:
        raise QError(f"{path}: expected a token")
    return text


def scrypt(password: bytes, salt: bytes) -> bytes:
    """The key that a password and a salt make (RFC 7914: N 16384, r 8, p 1, 32 bytes)."""
    return hashlib.scrypt(password, salt=salt, n=1 << 14, r=8, p=1, dklen=32)
