import Foundation

/// Starts a server of HTTP/3 alone, made of Python's `aioquic`, that answers well or badly as the path says:
///
/// `/hello`; `/size/N`; `/echo`, with what was sent; `/fields`, with the request's fields, one a line; `/trailers`;
/// `/interim`, a 103 first; `/reset/CODE`, behind the head; `/reject-once`, the first time with H3_REQUEST_REJECTED;
/// `/goaway`, which answers and takes no further stream; `/close/CODE`, the connection, behind the head; `/short`, fewer
/// bytes than announced; `/long`, more; `/upper`, a field's name in upper case; `/no-status`; `/large-head`; `/frame`, a
/// frame that is not allowed there; `/slow/N`, N bytes without a hurry.
package enum PythonHTTP3 {
  /// Where Scripts/bootstrap puts it.
  private static var interpreter: String {
    FileManager.default.currentDirectoryPath + "/.build/python/bin/python3"
  }

  package static var server: InstalledServer {
    InstalledServer(program: interpreter, package: "python3-venv, and run Scripts/bootstrap test")
  }

  /// - Parameters:
  ///   - tls: The server's certificate.
  ///   - retry: Whether addresses are validated by a Retry packet (RFC 9000 §8.1.2).
  ///   - versions: The versions of QUIC that it speaks, as numbers; nil for what `aioquic` speaks.
  package static func start(tls: TLSFiles, retry: Bool = false, versions: [UInt32]? = nil) async throws -> RealServer {
    try await RealServer.start(server, tls: nil, documentRoot: nil) { site in
      try site.folder.write(script, to: "server.py")
      return [
        "-u", site.folder.file("server.py"), String(site.port), tls.certificateFile, tls.keyFile, retry ? "retry" : "-",
        (versions ?? []).map { String($0) }.joined(separator: ","),
      ]
    }
  }

  private static let script = #"""
    import asyncio, sys
    from aioquic.asyncio import QuicConnectionProtocol, serve
    from aioquic.buffer import encode_uint_var
    from aioquic.h3.connection import H3_ALPN, H3Connection, FrameType, encode_frame
    from aioquic.h3.events import DataReceived, HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ProtocolNegotiated

    rejected = set()

    class Protocol(QuicConnectionProtocol):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.http = None
            self.requests = {}

        def quic_event_received(self, event):
            if isinstance(event, ProtocolNegotiated) and event.alpn_protocol in H3_ALPN:
                self.http = H3Connection(self._quic)
            if self.http is None:
                return
            for message in self.http.handle_event(event):
                if isinstance(message, HeadersReceived):
                    self.requests[message.stream_id] = (message.headers, bytearray())
                if isinstance(message, DataReceived) and message.stream_id in self.requests:
                    self.requests[message.stream_id][1].extend(message.data)
                if getattr(message, "stream_ended", False) and message.stream_id in self.requests:
                    fields, body = self.requests.pop(message.stream_id)
                    self.answer(message.stream_id, fields, bytes(body))
            self.transmit()

        def head(self, stream, fields=(), status="200", end=False):
            self.http.send_headers(stream, [(b":status", status.encode())] + list(fields), end_stream=end)

        def body(self, stream, data, end=True):
            self.http.send_data(stream, data, end_stream=end)

        def raw_head(self, stream, fields):
            block = self.http._encode_headers(stream, fields)
            self._quic.send_stream_data(stream, encode_frame(FrameType.HEADERS, block), True)

        def answer(self, stream, fields, body):
            path = dict(fields)[b":path"].decode()
            words = path.split("?")[0].split("/")[1:]
            name, argument = words[0], words[1] if len(words) > 1 else ""
            if name == "size":
                self.head(stream, [(b"content-length", argument.encode())])
                self.body(stream, b"x" * int(argument))
            elif name == "echo":
                self.head(stream, [(b"content-length", str(len(body)).encode())])
                self.body(stream, body)
            elif name == "fields":
                lines = b"".join(key + b": " + value + b"\n" for key, value in fields)
                self.head(stream)
                self.body(stream, lines)
            elif name == "trailers":
                self.head(stream)
                self.body(stream, b"body", end=False)
                self.http.send_headers(stream, [(b"x-sum", b"42")], end_stream=True)
            elif name == "interim":
                self.head(stream, [(b"link", b"</style.css>")], status="103")
                self.head(stream)
                self.body(stream, b"final")
            elif name == "reset":
                self.head(stream)
                self.body(stream, b"a part", end=False)
                self._quic.reset_stream(stream, int(argument, 16))
            elif name == "reject-once" and argument not in rejected:
                rejected.add(argument)
                self._quic.reset_stream(stream, 0x10b)
            elif name == "goaway":
                self.head(stream)
                self.body(stream, b"the last")
                last = encode_frame(FrameType.GOAWAY, encode_uint_var(stream + 4))
                self._quic.send_stream_data(self.http._local_control_stream_id, last)
            elif name == "close":
                self.head(stream)
                self.body(stream, b"a part", end=False)
                self.transmit()
                self.close(error_code=int(argument, 16), reason_phrase="as the path says")
            elif name == "short":
                self.head(stream, [(b"content-length", b"10")])
                self.body(stream, b"short")
            elif name == "long":
                self.head(stream, [(b"content-length", b"2")])
                self.body(stream, b"too long")
            elif name == "upper":
                self.raw_head(stream, [(b":status", b"200"), (b"X-Upper", b"1")])
            elif name == "no-status":
                self.raw_head(stream, [(b"x-field", b"1")])
            elif name == "large-head":
                self.head(stream, [(b"x-%d" % index, b"y" * 1000) for index in range(2000)], end=True)
            elif name == "frame":
                self._quic.send_stream_data(stream, encode_frame(FrameType.SETTINGS, b""), False)
            else:
                self.head(stream, [(b"content-type", b"text/plain")])
                self.body(stream, b"hello over QUIC")

    async def main():
        port, certificate, key, retry, versions = int(sys.argv[1]), *sys.argv[2:6]
        configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
        configuration.load_cert_chain(certificate, key)
        if versions:
            configuration.supported_versions = [int(version) for version in versions.split(",")]
        await serve("127.0.0.1", port, configuration=configuration, create_protocol=Protocol, retry=retry == "retry")
        # The tests look at this port to see that the server is ready; nothing is served over TCP.
        await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", port)
        await asyncio.Future()

    asyncio.run(main())
    """#
}
