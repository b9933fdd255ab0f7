import Foundation

/// Starts a server of HTTP/3 alone, made of Python's `aioquic`, that answers well or badly as the path says:
///
/// `/hello`; `/size/N`; `/echo`, with what was sent; `/fields`, with the request's fields, one a line; `/trailers`;
/// `/interim`, a 103 first; `/reset/CODE`, behind the head; `/reject-once`, the first time with H3_REQUEST_REJECTED;
/// `/goaway`, which answers and takes no further stream; `/close/CODE`, the connection, behind the head; `/short`, fewer
/// bytes than announced; `/long`, more; `/upper`, a field's name in upper case; `/foreign-name`, one that is not ASCII; `/no-status`; `/large-head`; `/frame`, a
/// frame that is not allowed there; `/handshake`, whether the handshake was a resumed one and whether the request came before
/// its end; `/too-early`, a 425 (RFC 8470) before that end; `/refuse-early`, behind which no early data are taken;
/// `/forget`, behind which no ticket is known; `/socket`, a WebSocket (RFC 9220) that sends back what it gets; `/numbers/N`,
/// as many bytes of numbers that count up, four bytes each; `/peer`, the client's address and how many connections there
/// were; `/progress`, how much of the last `/numbers` may be sent and was sent; `/few-streams`, as `/refuse-early`, and
/// further connections may open two streams at first; and what breaks the protocol (`faults`).
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
  ///   - offersConnect: Whether its settings permit other protocols in its streams (RFC 9220 §3).
  ///   - isSilent: Whether it completes handshakes and then says nothing, its settings neither.
  package static func start(
    tls: TLSFiles, retry: Bool = false, versions: [UInt32]? = nil, offersConnect: Bool = true,
    isSilent: Bool = false
  ) async throws -> RealServer {
    try await RealServer.start(server, tls: nil, documentRoot: nil) { site in
      try site.folder.write(script, to: "server.py")
      try site.folder.write(faults, to: "faults.py")
      return [
        "-u", site.folder.file("server.py"), String(site.port), tls.certificateFile, tls.keyFile,
        (versions ?? []).map { String($0) }.joined(separator: ","), retry ? "retry" : "-",
        isSilent ? "silent" : offersConnect ? "-" : "plain",
      ]
    }
  }

  /// The command of a server at an address, on a port of the kernel's choice, which it prints.
  ///
  /// - Parameter folder: for the server's script.
  package static func command(tls: TLSFiles, address: String, folder: String) throws -> [String] {
    let file = folder + "/server.py"
    try script.write(toFile: file, atomically: false, encoding: .utf8)
    try faults.write(toFile: folder + "/faults.py", atomically: false, encoding: .utf8)
    return [interpreter, "-u", file, "0", tls.certificateFile, tls.keyFile, "", "-", "-", address]
  }

  private static let script = #"""
    import array, asyncio, struct, sys
    import aioquic.tls
    from aioquic.asyncio import QuicConnectionProtocol, serve
    from aioquic.buffer import encode_uint_var
    from aioquic.h3.connection import H3_ALPN, H3Connection, FrameType, Setting, encode_frame
    from aioquic.h3.events import DataReceived, HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ProtocolNegotiated
    import faults

    rejected = set()
    tickets = {}
    connections = 0
    most_streams = 128
    takes_early_data = True
    read_hello = aioquic.tls.pull_client_hello

    def pull_client_hello(data):
        hello = read_hello(data)
        hello.early_data = hello.early_data and takes_early_data
        return hello

    aioquic.tls.pull_client_hello = pull_client_hello

    class PlainConnection(H3Connection):
        def _get_local_settings(self):
            settings = super()._get_local_settings()
            settings.pop(Setting.ENABLE_CONNECT_PROTOCOL)
            return settings

    class Socket:
        """The messages of a WebSocket (RFC 6455), sent back as they come."""
        def __init__(self):
            self.buffer = bytearray()

        def received(self, data):
            """What is to be sent, and whether that is the last."""
            self.buffer.extend(data)
            answer = bytearray()
            while True:
                if len(self.buffer) < 2:
                    return answer, False
                size, start = self.buffer[1] & 0x7f, 2
                if size >= 126:
                    width = 2 if size == 126 else 8
                    if len(self.buffer) < 2 + width:
                        return answer, False
                    size, start = int.from_bytes(self.buffer[2:2 + width], "big"), 2 + width
                if len(self.buffer) < start + 4 + size:
                    return answer, False
                mask = self.buffer[start:start + 4]
                payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.buffer[start + 4:start + 4 + size]))
                first = self.buffer[0]
                del self.buffer[:start + 4 + size]
                if first & 0x0f == 9:
                    first = first & 0xf0 | 10
                length = bytes([size]) if size < 126 else struct.pack("!BH", 126, size) if size < 65536 \
                    else struct.pack("!BQ", 127, size)
                answer.extend(bytes([first]) + length + payload)
                if first & 0x0f == 8:
                    return answer, True

    class Protocol(QuicConnectionProtocol):
        def __init__(self, *arguments, **options):
            global connections
            super().__init__(*arguments, **options)
            connections += 1
            limit = self._quic._local_max_streams_bidi
            limit.value = limit.sent = most_streams
            self.large = None
            self.http = None
            self.requests = {}
            self.early = set()
            self.sockets = {}

        def quic_event_received(self, event):
            if isinstance(event, ProtocolNegotiated) and event.alpn_protocol in H3_ALPN and sys.argv[6] != "silent":
                self.http = (PlainConnection if sys.argv[6] == "plain" else H3Connection)(self._quic)
            if self.http is None:
                return
            for message in self.http.handle_event(event):
                if isinstance(message, HeadersReceived):
                    if not self._quic._handshake_complete:
                        self.early.add(message.stream_id)
                    if dict(message.headers).get(b":protocol") == b"websocket":
                        self.sockets[message.stream_id] = Socket()
                        self.head(message.stream_id, [(b"x-way", b"h3")])
                        continue
                    self.requests[message.stream_id] = (message.headers, bytearray())
                if isinstance(message, DataReceived) and message.stream_id in self.sockets:
                    answer, is_last = self.sockets[message.stream_id].received(message.data)
                    if is_last or message.stream_ended:
                        del self.sockets[message.stream_id]
                        self.body(message.stream_id, bytes(answer), end=True)
                    elif answer:
                        self.body(message.stream_id, bytes(answer), end=False)
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
            global takes_early_data, most_streams
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
            elif name == "foreign-name":
                self.raw_head(stream, [(b":status", b"200"), ("x-é".encode(), b"1")])
            elif name == "no-status":
                self.raw_head(stream, [(b"x-field", b"1")])
            elif name == "large-head":
                self.head(stream, [(b"x-%d" % index, b"y" * 1000) for index in range(2000)], end=True)
            elif name == "handshake":
                self.head(stream)
                told = "resumed=%d early=%d" % (self._quic.tls.session_resumed, stream in self.early)
                self.body(stream, told.encode())
            elif name == "too-early":
                self.head(stream, status="425" if stream in self.early else "200")
                self.body(stream, b"early" if stream in self.early else b"late")
            elif name in ("refuse-early", "few-streams"):
                takes_early_data = False
                most_streams = 2 if name == "few-streams" else most_streams
                self.head(stream, end=True)
            elif name == "numbers":
                numbers = array.array("I", range(int(argument) // 4))
                self.large = stream
                self.head(stream, [(b"content-length", argument.encode())])
                self.body(stream, numbers.tobytes())
            elif name == "progress":
                large = self._quic._streams[self.large]
                self.head(stream)
                self.body(stream, b"%d %d" % (large.max_stream_data_remote, large.sender.highest_offset))
            elif name == "peer":
                self.head(stream)
                address = self._quic._network_paths[0].addr[0]
                self.body(stream, ("address=%s connections=%d" % (address, connections)).encode())
            elif name == "forget":
                tickets.clear()
                self.head(stream, end=True)
            elif name == "frame":
                self._quic.send_stream_data(stream, encode_frame(FrameType.SETTINGS, b""), False)
            elif not faults.answer(self, stream, name, argument):
                self.head(stream, [(b"content-type", b"text/plain")])
                self.body(stream, b"hello over QUIC")

    async def main():
        port, certificate, key, versions, retry = int(sys.argv[1]), *sys.argv[2:6]
        configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
        configuration.load_cert_chain(certificate, key)
        if versions:
            configuration.supported_versions = [int(version) for version in versions.split(",")]
        address = sys.argv[7] if len(sys.argv) > 7 else "127.0.0.1"
        server = await serve(
            address, port, configuration=configuration, create_protocol=Protocol, retry=retry == "retry",
            session_ticket_fetcher=lambda label: tickets.pop(label, None),
            session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}))
        if port == 0:
            print(server._transport.get_extra_info("sockname")[1])
        else:
            # The tests look at this port to see that the server is ready; nothing is served over TCP.
            await asyncio.start_server(lambda reader, writer: writer.close(), address, port)
        await asyncio.Future()

    asyncio.run(main())
    """#
}
