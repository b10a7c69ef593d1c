"""TLS on both sides of a connection, with certificates made for these tests."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.ipc import tls
from kshell.session import Session
from kshell.store import codec
from kshell.values.base.build import string as text
from tests.ipc.processes import Client, Server, eventually, framed
from tests.ipc.web import serving

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl command is not there")

VARIABLES = ("SSL_CERT_FILE", "SSL_KEY_FILE", "SSL_CA_CERT_FILE", "SSL_CA_CERT_PATH", "SSL_VERIFY_CLIENT", "SSL_VERIFY_SERVER", "SSL_CIPHER_LIST",
             "SSL_CIPHERSUITES", "SSL_MINPROTOCOL", "SSL_MAXPROTOCOL")


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def authority(folder: Path, name: str) -> None:
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout",
            f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem", "-addext", "keyUsage=keyCertSign")


def certificate(folder: Path, by: str, name: str, subject: str, names: str) -> None:
    """A certificate and its key, signed by an authority."""
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject, "-keyout", f"{folder}/{name}.key", "-out",
            f"{folder}/{name}.csr")
    (folder / f"{name}.ext").write_text(f"subjectAltName={names}\n")
    openssl("x509", "-req", "-in", f"{folder}/{name}.csr", "-CA", f"{folder}/{by}.pem", "-CAkey", f"{folder}/{by}.key", "-CAcreateserial", "-days", "2",
            "-out", f"{folder}/{name}.pem", "-extfile", f"{folder}/{name}.ext")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("certificates")
    for name in ("ca", "stranger"):
        authority(made, name)
    certificate(made, "ca", "server", "/C=CH/O=Example/CN=server", "DNS:localhost,IP:127.0.0.1")
    certificate(made, "ca", "elsewhere", "/CN=elsewhere", "DNS:elsewhere.invalid")
    certificate(made, "ca", "client", "/O=Example/CN=client", "DNS:client.invalid")
    return made


@pytest.fixture(scope="module", autouse=True)
def environment(folder: Path) -> Iterator[None]:
    before = dict(os.environ)
    for name in VARIABLES:
        os.environ.pop(f"KX_{name}", None)
        os.environ.pop(name, None)
    os.environ.update(KX_SSL_CERT_FILE=f"{folder}/server.pem", KX_SSL_KEY_FILE=f"{folder}/server.key", KX_SSL_CA_CERT_FILE=f"{folder}/ca.pem")
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("tls")
    running = Server(place, "f:{x+y}\n.z.pc:{gone::x}\n.z.ws:{neg[.z.w]x}\n", ("-E", "1", "--log", str(place / "log")))
    running.log = place / "log"  # type: ignore[attr-defined]
    yield running
    running.end()


@pytest.fixture
def q(environment: None) -> Session:
    return Session()


# ------------------------------------------------------------------ both sides are kshell


@pytest.mark.parametrize("form", ["`:tcps://localhost:{p}", "`:tcps://127.0.0.1:{p}:me:pw", "(`:tcps://localhost:{p};5000)", "`:unixs://{p}", '":tcps://localhost:{p}"'])
def test_connections_with_tls(server: Server, q: Session, form: str) -> None:
    q.run("h:hopen " + form.format(p=server.port))
    assert q.run('h"1+1"') == 2
    assert q.run("h(`f;2;3)") == 5
    assert q.show(q.run('h".z.e`PROTOCOL"')) == "`TLSv1.3"
    q.run('neg[h]"y:7";neg[h][]')
    assert q.run('h"y"') == 7
    assert q.run("x:500000?100;x~h({x};x)") is True  # many records in both directions
    q.run("hclose h")


def test_requests_without_a_handle_use_tls_too(server: Server, q: Session) -> None:
    assert q.run(f'`:tcps://localhost:{server.port} "2*3"') == 6


def test_http_and_websockets_with_tls(server: Server, q: Session) -> None:
    address, host = f"localhost:{server.port}", "Host: localhost"
    q.run(f'said:(`$":https://{address}")"GET /.csv?([]v:1%202%203) HTTP/1.1\\r\\n{host}\\r\\n\\r\\n"')
    assert q.run('said like"HTTP/1.1 200 OK*"') is True and q.run('0<count(said except"\\r")ss"v\\n1\\n2\\n3"') is True
    q.run(f'.z.ws:{{came::x}};r:(`$":wss://{address}")"GET / HTTP/1.1\\r\\n{host}\\r\\n\\r\\n"')
    q.run('neg[r 0]100000#"abc"')
    assert eventually(lambda: q.serve(0.05) or q.run('@[{came~100000#"abc"};::;0b]'))
    q.run("hclose r 0")


def test_plain_connections_beside(server: Server) -> None:
    client = Client(server.port)
    assert client.ask(text("count .z.e")) == 0
    assert client.ask(text("1+1")) == 2
    client.close()


def test_what_the_client_gives_is_in_z_e(tmp_path: Path, folder: Path, q: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KX_SSL_VERIFY_CLIENT", "YES")
    with Server(tmp_path, "", ("-E", "2")) as server:
        monkeypatch.setenv("KX_SSL_CERT_FILE", f"{folder}/client.pem")
        monkeypatch.setenv("KX_SSL_KEY_FILE", f"{folder}/client.key")
        q.run(f"h:hopen`:tcps://localhost:{server.port}")
        assert q.show(q.run('h"key .z.e"')) == "`CIPHER`PROTOCOL`CERT"
        assert q.show(q.run('h".z.e[`CERT]`SUBJECT"')) == '"/O=Example/CN=client"'
        assert q.show(q.run('h".z.e[`CERT]`ISSUER"')) == '"/CN=ca"'
        assert q.run('h".z.e[`CERT]`VERIFIED"') is True
        q.run("hclose h")
        monkeypatch.delenv("KX_SSL_CERT_FILE")
        with pytest.raises(QError, match=r"conn\. OS reports|access|hop"):
            q.run(f"hopen`:tcps://localhost:{server.port}")


# ------------------------------------------------------------------ certificates that do not fit


@pytest.mark.parametrize(
    ("settings", "name", "problem"),
    [
        ({"CA_CERT_FILE": "stranger.pem"}, "localhost", "certificate verify failed"),
        ({"CA_CERT_FILE": "stranger.pem", "VERIFY_SERVER": "NO"}, "localhost", ""),
        ({"CA_CERT_FILE": "missing.pem"}, "localhost", "No such file"),
        ({"CA_CERT_FILE": "server.key"}, "localhost", "conn. OS reports"),
        ({"VERIFY_SERVER": "MAYBE"}, "localhost", "SSL_VERIFY_SERVER: expected one of NO, YES, HOSTIP"),
        ({"MINPROTOCOL": "SSLv3"}, "localhost", "SSL_MINPROTOCOL: expected one of"),
        ({"CIPHER_LIST": "nonsense"}, "localhost", "SSL_CIPHER_LIST"),
        ({"CIPHERSUITES": "nonsense"}, "localhost", "SSL_CIPHERSUITES"),
        ({"MAXPROTOCOL": "TLSv1.2"}, "localhost", ""),
        ({"MINPROTOCOL": "TLSv1"}, "localhost", ""),
    ],
)
def test_settings_of_the_client(server: Server, q: Session, folder: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], name: str, problem: str) -> None:
    for key, value in settings.items():
        monkeypatch.setenv(f"KX_SSL_{key}", str(folder / value) if "FILE" in key else value)
    if not problem:
        q.run(f"h:hopen`:tcps://{name}:{server.port};hclose h")
        return
    with pytest.raises(QError, match=f"^conn. OS reports: .*{problem}|^{problem}"):
        q.run(f"hopen`:tcps://{name}:{server.port}")


def test_the_name_of_the_server_is_checked(tmp_path: Path, folder: Path, q: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KX_SSL_CERT_FILE", f"{folder}/elsewhere.pem")
    monkeypatch.setenv("KX_SSL_KEY_FILE", f"{folder}/elsewhere.key")
    with Server(tmp_path, "", ("-E", "1")) as server:
        address = f"`:tcps://localhost:{server.port}"
        with pytest.raises(QError, match=r"certificate verify failed: Hostname mismatch"):
            q.run(f"hopen{address}")
        monkeypatch.setenv("KX_SSL_VERIFY_SERVER", "YES")  # the authority alone
        q.run(f"h:hopen{address};hclose h")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"CERT_FILE": "/nowhere.pem"}, "/nowhere.pem. OS reports: No such file"),
        ({"KEY_FILE": "/nowhere.key"}, "/nowhere.key. OS reports: No such file"),
        ({"VERIFY_CLIENT": "MAYBE"}, "expected one of NO, YES, IFPRESENT, REQUESTONLY"),
    ],
)
def test_settings_of_the_server(q: Session, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], problem: str) -> None:
    for key, value in settings.items():
        monkeypatch.setenv(f"KX_SSL_{key}", value)
    with pytest.raises(QError, match=problem):
        q.run("\\E 1")
    assert q.run("\\E").v == 0  # type: ignore[union-attr]


def test_a_key_of_another_certificate(q: Session, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KX_SSL_KEY_FILE", f"{folder}/client.key")
    with pytest.raises(QError, match=r"server\.pem\. OS reports: key values mismatch"):
        q.run("\\E 1")


def test_the_settings_are_shown(q: Session, folder: Path) -> None:
    assert q.show(q.run("(-26!())`SSL_CERT_FILE")) == f"`{folder}/server.pem" or q.run(f'"{folder}/server.pem"~string(-26!())`SSL_CERT_FILE') is True
    assert q.show(q.run("(-26!())`SSL_VERIFY_SERVER`SSL_VERIFY_CLIENT`SSL_MINPROTOCOL")) == "`HOSTIP`NO`TLSv1.2"
    with pytest.raises(QError, match="9999 is not an ipc handle"):
        q.run("-26!9999i")


# ------------------------------------------------------------------ the bytes


def test_a_hello_on_a_plain_port_and_the_reverse_are_closed(tmp_path: Path, q: Session) -> None:
    with Server(tmp_path, "", ("--log", str(tmp_path / "log"))) as plain:
        with pytest.raises(QError, match=r"conn\. OS reports: "):
            q.run(f"hopen`:tcps://localhost:{plain.port}")
        assert eventually(lambda: "TLS not enabled" in (tmp_path / "log").read_text())
    with Server(tmp_path, "", ("-E", "2", "--log", str(tmp_path / "log"))) as only:
        assert Client(only.port).capability == b""
        assert eventually(lambda: "not TLS: this port accepts only TLS" in (tmp_path / "log").read_text())
        assert q.run(f'`:tcps://localhost:{only.port} "system\\"E\\""').v == 2  # type: ignore[union-attr]


def secured(port: int, folder: Path) -> ssl.SSLSocket:
    """A connection by Python's own TLS."""
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=20), server_hostname="localhost")


def test_a_login_byte_by_byte_and_many_requests_at_once(server: Server, folder: Path) -> None:
    with secured(server.port, folder) as sock:
        for byte in b"slow:pw\x03\0":
            sock.sendall(bytes((byte,)))
        assert sock.recv(100) == b"\x03"
        sock.sendall(b"".join(framed(1, codec.encode(text(f"{k}+1"))) for k in range(50)))
        data = b""
        while len(data) < 50 * 17:
            data += sock.recv(10_000)
        assert data == b"".join(framed(2, codec.encode(k + 1)) for k in range(50))


def test_the_end_of_a_connection_is_noticed(server: Server, folder: Path) -> None:
    sock = secured(server.port, folder)
    sock.sendall(b"me\x03\0")
    sock.recv(1)
    sock.sendall(framed(1, codec.encode(text("`long$.z.w"))))
    handle = int.from_bytes(sock.recv(100)[-8:], "little")
    sock.unwrap()
    client = Client(server.port)
    assert eventually(lambda: client.ask(text("gone")).v == handle)  # type: ignore[union-attr]
    client.close()


@pytest.mark.parametrize("data", [b"\x16\x03\x01\x00\x05hello", b"\x16" * 100, b"\x16\x03\x01\xff\xff" + bytes(70_000)], ids=["short", "noise", "long"])
def test_noise_that_looks_like_a_hello_ends_its_connection(server: Server, data: bytes) -> None:
    made = Client(server.port, b"")
    made.socket.sendall(data)
    with suppress(ConnectionResetError):  # so ends what sent more than is read
        assert made.bytes(10_000)[:1] in (b"", b"\x15")  # an alert, or nothing
    assert made.ended()
    other = Client(server.port)
    assert other.ask(text("1+1")) == 2
    assert eventually(lambda: "TLS: " in server.log.read_text())  # type: ignore[attr-defined]


def test_a_stalled_handshake_stops_nobody(server: Server) -> None:
    made = Client(server.port, b"")
    made.socket.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    start = time.monotonic()
    client = Client(server.port)
    for k in range(20):
        assert client.ask(text(f"{k}+1")) == k + 1
    assert time.monotonic() - start < 5
    made.close()


def test_a_server_that_does_not_answer_a_hello(q: Session) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def run() -> None:
        sock, _ = listener.accept()
        with sock, listener:
            done.wait(20)

    threading.Thread(target=run, daemon=True).start()
    with pytest.raises(QError, match="timeout"):
        q.run(f"hopen(`:tcps://localhost:{listener.getsockname()[1]};300)")
    done.set()


def test_ssl_is_loaded_only_for_tls() -> None:
    code = "import sys; from kshell.session import Session; s=Session(); p=s.listen(); s.serve(.05); s.listen(0); print('ssl' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_a_bad_record_behind_requests_ends_its_connection(q: Session) -> None:
    """What came before it is answered as far as that can be sent; nothing else ends."""
    q.run("\\E 1")
    q.run("n:0")
    port = q.listen()

    def client() -> None:
        context = ssl.create_default_context(cafile=os.environ["KX_SSL_CA_CERT_FILE"])
        made = socket.create_connection(("127.0.0.1", port))
        arrived, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        channel = context.wrap_bio(arrived, leaving, server_hostname="localhost")
        while True:
            try:
                channel.do_handshake()
                break
            except ssl.SSLWantReadError:
                made.sendall(leaving.read())
                arrived.write(made.recv(1 << 16))
        channel.write(b"me\3\0")
        made.sendall(leaving.read())
        while True:  # what comes with a bad record is dropped before the login
            try:
                channel.read(1)
                break
            except ssl.SSLWantReadError:
                arrived.write(made.recv(1 << 16))
        for _ in range(300):
            channel.write(framed(1, codec.encode(text("n+:1"))))
        made.sendall(leaving.read() + b"\x17\x03\x03\x00\x20" + bytes(32))
        with suppress(ConnectionResetError):
            while made.recv(1 << 16):
                pass
        made.close()

    thread = threading.Thread(target=client)
    thread.start()
    network = q.ipc.network
    assert eventually(lambda: q.serve(0.05) or any(event.what.startswith("TLS: decryption failed") for event in network.log.events))
    thread.join()
    assert not network.connections and q.run("n") == 300
    q.listen(0)


# ------------------------------------------------------------------ certificates of clients


@pytest.mark.parametrize("how", ["YES", "IFPRESENT", "REQUESTONLY"])
def test_authorities_of_clients_must_be_named(q: Session, folder: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Those of the system certify anybody."""
    monkeypatch.delenv("KX_SSL_CA_CERT_FILE")
    monkeypatch.setenv("KX_SSL_VERIFY_CLIENT", how)
    known = tls.settings()
    monkeypatch.setattr(tls, "settings", lambda: {**known, "SSL_CA_CERT_FILE": f"{folder}/none.pem"})
    with pytest.raises(QError, match="SSL_VERIFY_CLIENT: expected the authorities of the clients"):
        q.run("\\E 2")
    assert q.run("\\E").v == 0  # type: ignore[union-attr]
    monkeypatch.setattr(tls, "settings", lambda: {**known, "SSL_CA_CERT_FILE": f"{folder}/ca.pem"})
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", None)
    assert [dict(found)["subject"] for found in tls.server_context().get_ca_certs()] == [((("commonName", "ca"),),)]
    q.run("\\E 0")


@pytest.mark.parametrize("how", ["IFPRESENT", "REQUESTONLY"])
def test_a_certificate_that_is_only_asked_for(tmp_path: Path, folder: Path, q: Session, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """None is taken, one that verifies is shown, one that does not ends the handshake."""
    monkeypatch.setenv("KX_SSL_VERIFY_CLIENT", how)
    certificate(folder, "stranger", "unknown", "/CN=unknown", "DNS:unknown.invalid")
    log = tmp_path / "log"
    with Server(tmp_path, "", ("-E", "2", "--log", str(log))) as server:
        address = f"`:tcps://localhost:{server.port}"
        monkeypatch.delenv("KX_SSL_CERT_FILE")
        assert q.show(q.run(f'h:hopen{address};r:h"key .z.e";hclose h;r')) == "`CIPHER`PROTOCOL"
        monkeypatch.setenv("KX_SSL_CERT_FILE", f"{folder}/client.pem")
        monkeypatch.setenv("KX_SSL_KEY_FILE", f"{folder}/client.key")
        assert q.show(q.run(f'h:hopen{address};r:h".z.e[`CERT]`SUBJECT`VERIFIED";hclose h;r')) == '"/O=Example/CN=client"\n1b'
        monkeypatch.setenv("KX_SSL_CERT_FILE", f"{folder}/unknown.pem")
        monkeypatch.setenv("KX_SSL_KEY_FILE", f"{folder}/unknown.key")
        with pytest.raises(QError):
            q.run(f'h:hopen{address};h"1+1"')
        assert eventually(lambda: "TLS: certificate verify failed" in log.read_text())


def test_a_certificate_that_is_only_asked_for_is_no_login(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another machine, and the port is not opened to others for it either."""
    monkeypatch.setattr("kshell.ipc.peer.is_local", lambda host: False)
    monkeypatch.setattr("kshell.ipc.peer.user_of", lambda sock: None)
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    context.load_cert_chain(f"{folder}/client.pem", f"{folder}/client.key")
    with serving("\\E 1") as (session, port):
        for how, answer in (("REQUESTONLY", b""), ("IFPRESENT", b""), ("YES", b"\3")):
            monkeypatch.setenv("KX_SSL_VERIFY_CLIENT", how)
            session.run("\\E 2")
            with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=20), server_hostname="localhost") as sock:
                sock.sendall(b"me\3\0")
                assert sock.recv(100) == answer
    monkeypatch.setenv("KX_SSL_VERIFY_CLIENT", "REQUESTONLY")
    alone = Session()
    alone.run("\\E 2")
    with pytest.raises(QError, match="lets other machines in"):
        alone.run("\\p 0.0.0.0:0W")


def test_the_ciphers_of_tls_1_3(q: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """They can be chosen where Python's ssl has a way to."""
    monkeypatch.setenv("KX_SSL_CIPHERSUITES", "TLS_AES_128_GCM_SHA256")
    chosen: list[str] = []
    monkeypatch.setattr(ssl.SSLContext, "set_ciphersuites", lambda self, text: chosen.append(text), raising=False)
    q.run("\\E 1")
    assert chosen == ["TLS_AES_128_GCM_SHA256"]
    monkeypatch.delattr(ssl.SSLContext, "set_ciphersuites")
    if not hasattr(ssl.SSLContext, "set_ciphersuites"):
        with pytest.raises(QError, match=r"SSL_CIPHERSUITES: Python 3\.\d+ cannot .*SSL_MAXPROTOCOL=TLSv1\.2 with SSL_CIPHER_LIST"):
            q.run("\\E 1")
    monkeypatch.delenv("KX_SSL_CIPHERSUITES")
    q.run("\\E 0")


def test_the_ciphers_of_tls_1_2(tmp_path: Path, q: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(tmp_path, "", ("-E", "2")) as server:
        monkeypatch.setenv("KX_SSL_MAXPROTOCOL", "TLSv1.2")
        monkeypatch.setenv("KX_SSL_CIPHER_LIST", "ECDHE-ECDSA-AES128-GCM-SHA256")
        assert q.show(q.run(f'h:hopen`:tcps://localhost:{server.port};r:h".z.e`CIPHER`PROTOCOL";hclose h;r')) == "`ECDHE-ECDSA-AES128-GCM-SHA256`TLSv1.2"


def test_a_certificate_lets_in_over_http(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another machine too, where HTTP needs a user and a password else."""
    monkeypatch.setattr("kshell.ipc.peer.is_local", lambda host: False)
    monkeypatch.setattr("kshell.ipc.peer.user_of", lambda sock: None)
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    context.load_cert_chain(f"{folder}/client.pem", f"{folder}/client.key")
    with serving("\\E 1") as (session, port):
        for how, status in (("NO", 401), ("IFPRESENT", 401), ("REQUESTONLY", 401), ("YES", 200)):
            monkeypatch.setenv("KX_SSL_VERIFY_CLIENT", how)
            session.run("\\E 2")
            client = http.client.HTTPSConnection("localhost", port, context=context, timeout=20)
            client.request("GET", "/?1+1")
            assert client.getresponse().status == status
            client.close()
