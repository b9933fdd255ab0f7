#!/usr/bin/env python3
"""The server that the examples talk to.

    python3 Examples/Server/server.py [--port PORT] [--certificate FILE --key FILE [--tls-port PORT]]

Serves http, and https where it is given a certificate, on 127.0.0.1. A port that is not named is a free one. Prints the
URLs of both and serves until its standard input or its process ends. `Scripts/examples --serve` starts it with a
certificate and prints how to run each example.

    GET  /article, /draft    text that may be cached for a minute; each answer has a number of its own
    GET  /text               64 KiB of text in eight chunks
    GET  /file               numbered lines with an entity tag and ranges; size=BYTES, rate=BYTES a second
    GET  /moved              a redirect to /article
    GET  /basic, /digest     for the user "reader" with the password "secret"
    POST /upload             describes the body that came
    POST /protected/upload   the same, for that user
    POST /token              a token that opens /articles twice, for a refresh token
    GET  /articles           JSON for the bearer of a token
    GET  /events             server-sent events; the connection ends after each third
"""

import argparse
import base64
import email.utils
import hashlib
import http.server
import itertools
import json
import re
import ssl
import sys
import threading
import time
import urllib.parse

USER, PASSWORD = "reader", "secret"
REFRESH_TOKEN = "refresh-1"
LINE = 16


def numbered_lines(start, count):
    """`count` bytes, from `start` on, of the lines 000000000000001, 000000000000002 and so on."""
    first, last = start // LINE, (start + count + LINE - 1) // LINE
    text = b"".join(b"%015d\n" % (number + 1) for number in range(first, last))
    return text[start - first * LINE :][:count]


class Tokens:
    """The tokens that were given out, and how many requests each still opens."""

    def __init__(self):
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.remaining = {}

    def issue(self):
        with self.lock:
            token = "token-%d" % next(self.numbers)
            self.remaining[token] = 2
            return token

    def use(self, token):
        with self.lock:
            if self.remaining.get(token, 0) == 0:
                return False
            self.remaining[token] -= 1
            return True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A head and a small body leave in one packet.
    wbufsize = -1
    disable_nagle_algorithm = True
    answers = itertools.count(1)
    nonces = itertools.count(1)
    tokens = Tokens()

    def do_GET(self):
        self.body = self.read_body()
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query))
        routes = {
            "/article": self.article,
            "/draft": self.article,
            "/text": self.text,
            "/file": self.file,
            "/moved": self.moved,
            "/basic": self.basic,
            "/digest": self.digest,
            "/upload": self.upload,
            "/protected/upload": self.protected_upload,
            "/token": self.token,
            "/articles": self.articles,
            "/events": self.events,
        }
        routes.get(url.path, self.missing)()

    do_POST = do_PUT = do_HEAD = do_GET

    # Bodies

    def read_body(self):
        self.is_chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        if not self.is_chunked:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            if size == 0:
                break
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b"\n", b""):
            pass
        return b"".join(pieces)

    def answer(self, text, status=200, type="text/plain; charset=utf-8", fields=()):
        body = text.encode()
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def send_chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    # Resources

    def missing(self):
        self.answer("there is nothing here\n", status=404)

    def article(self):
        self.answer("article, answer number %d\n" % next(self.answers), fields=[("Cache-Control", "max-age=60")])

    def text(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for index in range(8):
            self.send_chunk(numbered_lines(index * 8192, 8192))
        self.send_chunk(b"")

    def file(self):
        size = int(self.query.get("size", 4 << 20))
        rate = int(self.query.get("rate", 0))
        tag = '"lines-%d"' % size
        start, status = 0, 200
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and self.headers.get("If-Range", tag) == tag and int(wanted[1]) < size:
            start, status = int(wanted[1]), 206
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (start, size - 1, size))
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(size - start))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", tag)
        self.send_header("Last-Modified", email.utils.formatdate(1_000_000_000, usegmt=True))
        self.end_headers()
        piece = 16384
        while start < size and self.command != "HEAD":
            data = numbered_lines(start, min(piece, size - start))
            self.wfile.write(data)
            self.wfile.flush()
            start += len(data)
            if rate:
                time.sleep(len(data) / rate)

    def moved(self):
        self.answer("this moved to /article\n", status=302, fields=[("Location", "/article")])

    # Authentication

    def is_let_in(self):
        expected = "Basic " + base64.b64encode(("%s:%s" % (USER, PASSWORD)).encode()).decode()
        if self.headers.get("Authorization") == expected:
            return True
        self.answer("a password, please\n", status=401, fields=[("WWW-Authenticate", 'Basic realm="library"')])
        return False

    def basic(self):
        if self.is_let_in():
            self.answer("welcome, %s\n" % USER)

    def digest(self):
        def hash(*parts):
            return hashlib.sha256(":".join(parts).encode()).hexdigest()

        scheme, _, rest = self.headers.get("Authorization", "").partition(" ")
        given = {name: quoted or plain for name, quoted, plain in re.findall(r'(\w+)=(?:"([^"]*)"|([^",\s]+))', rest)}
        if scheme == "Digest":
            proof = hash(
                hash(USER, "library", PASSWORD),
                *(given.get(name, "") for name in ("nonce", "nc", "cnonce", "qop")),
                hash(self.command, given.get("uri", "")),
            )
            if given.get("username") == USER and given.get("response") == proof:
                return self.answer("welcome, %s\n" % USER)
        challenge = 'Digest realm="library", qop="auth", algorithm=SHA-256, nonce="%d"' % next(self.nonces)
        self.answer("a proof, please\n", status=401, fields=[("WWW-Authenticate", challenge)])

    # Uploads

    def upload(self):
        length = "in chunks" if self.is_chunked else "with its length"
        type = self.headers.get("Content-Type", "without a type")
        self.answer("%s of %d bytes, sent %s, %s\n" % (self.command, len(self.body), length, type))

    def protected_upload(self):
        if self.is_let_in():
            self.upload()

    # A service with tokens

    def token(self):
        form = dict(urllib.parse.parse_qsl(self.body.decode()))
        if form.get("grant_type") != "refresh_token" or form.get("refresh_token") != REFRESH_TOKEN:
            return self.answer('{"error": "invalid_grant"}', status=400, type="application/json")
        answer = {"access_token": self.tokens.issue(), "token_type": "Bearer"}
        self.answer(json.dumps(answer), type="application/json", fields=[("Cache-Control", "no-store")])

    def articles(self):
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme == "Bearer" and self.tokens.use(token):
            articles = [{"id": number, "title": "Article %d" % number} for number in (1, 2, 3)]
            return self.answer(json.dumps(articles), type="application/json", fields=[("Cache-Control", "no-store")])
        error = ', error="invalid_token"' if token else ""
        self.answer(
            '{"error": "a token, please"}',
            status=401,
            type="application/json",
            fields=[("WWW-Authenticate", 'Bearer realm="articles"' + error)],
        )

    # Server-sent events

    def events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        last = int(self.headers.get("Last-Event-ID", 0))
        self.send_chunk(b": events are numbered\nretry: 10\n\n")
        for number in range(last + 1, min(last + 3, 7) + 1):
            # The second event of each three has two lines of data, and ends its lines as Windows does.
            if number % 3 == 2:
                self.send_chunk(b"id: %d\r\nevent: note\r\ndata: first line\r\ndata: second line\r\n\r\n" % number)
            elif number == 7:
                self.send_chunk("id: 7\nevent: end\ndata: »good bye«\n\n".encode())
            else:
                # One event in two pieces.
                self.send_chunk(b"id: %d\nda" % number)
                self.send_chunk(b"ta: number %d\n\n" % number)
        self.send_chunk(b"")

    def log_message(self, format, *arguments):
        if self.server.is_verbose:
            super().log_message(format, *arguments)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    is_verbose = False

    def handle_error(self, request, client_address):
        # A client that pauses a download closes its connection.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class TLSServer(Server):
    context = None

    def finish_request(self, request, client_address):
        try:
            # The handshake belongs to the connection's own thread.
            with self.context.wrap_socket(request, server_side=True) as connection:
                super().finish_request(connection, client_address)
        except ssl.SSLError:
            # A client that does not trust the certificate ends the handshake.
            pass


def main():
    parser = argparse.ArgumentParser(description="The server that the examples talk to.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls-port", type=int, default=0)
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("--verbose", action="store_true", help="print each request")
    options = parser.parse_args()

    Server.is_verbose = options.verbose
    servers = [Server(("127.0.0.1", options.port), Handler)]
    print("http://localhost:%d" % servers[0].server_port)
    if options.certificate:
        TLSServer.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        TLSServer.context.load_cert_chain(options.certificate, options.key)
        servers.append(TLSServer(("127.0.0.1", options.tls_port), Handler))
        print("https://localhost:%d" % servers[1].server_port)
    sys.stdout.flush()
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        sys.stdin.read()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
