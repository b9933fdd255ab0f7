extension HTTP3Front {
  /// A connection of QUIC becomes one of HTTP/2 (TLS over TCP) to the server, a stream a stream. What the server sends waits
  /// there as long as the client does not take it.
  static let script = #"""
    import asyncio, ssl, sys
    import h2.config, h2.connection, h2.events, h2.stream
    from aioquic.asyncio import QuicConnectionProtocol, serve
    from aioquic.buffer import encode_uint_var
    from aioquic.h3.connection import H3_ALPN, FrameType, H3Connection, Setting, encode_frame
    from aioquic.h3.events import DataReceived, HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated, StopSendingReceived, StreamReset

    # Scripts may announce lengths that they do not keep.
    h2.stream.H2Stream._track_content_length = lambda self, length, end: None
    h2.stream.H2Stream._initialize_content_length = lambda self, headers: None

    MOST_UNSENT = 1 << 18
    # RFC 9113 §7 to RFC 9114 §8.1
    CODES = {0: 0x100, 7: 0x10b, 8: 0x10c, 13: 0x110}

    def joined(fields):
        """Crumbs of cookies are one field (RFC 9114 §4.2.1): the script looks at fields, not at crumbs."""
        cookies = [value for name, value in fields if name == b"cookie"]
        rest = [field for field in fields if field[0] != b"cookie"]
        return rest + ([(b"cookie", b"; ".join(cookies))] if cookies else [])

    class PlainConnection(H3Connection):
        def _get_local_settings(self):
            settings = super()._get_local_settings()
            settings.pop(Setting.ENABLE_CONNECT_PROTOCOL)
            return settings

    class Changes:
        """Wakes the tasks that wait for one."""
        def __init__(self):
            self.next = asyncio.Event()

        def tell(self):
            self.next.set()
            self.next = asyncio.Event()

        async def until(self, holds):
            while not holds():
                await self.next.wait()

    # Connections that have ended, of all servers.
    ends = Changes()

    class Way:
        """A request on both sides."""
        def __init__(self, near, head):
            self.near, self.head = near, head
            # None as long as the server takes no further stream.
            self.far = None
            self.unsent = bytearray()
            self.trailers = None
            self.has_ended = self.is_sent = False
            self.has_answered = self.is_answered = False
            self.unacknowledged = 0

    class Front(QuicConnectionProtocol):
        def __init__(self, *arguments, port, **options):
            super().__init__(*arguments, **options)
            self.port = port
            self.http = self.back = self.writer = None
            self.early = []
            self.near, self.far = {}, {}
            self.resets = set()
            self.is_leaving = self.is_over = False
            # Of what has left, of the requests, and of the connection.
            self.changes = Changes()

        # Datagrams

        def transmit(self):
            """Also called for each datagram that came and each timer: acknowledgements count, and streams go."""
            super().transmit()
            self.changes.tell()

        def datagram_received(self, data, address):
            super().datagram_received(data, address)
            self.drain()

        def quic_event_received(self, event):
            if isinstance(event, ProtocolNegotiated):
                self.task = asyncio.ensure_future(self.run())
            elif isinstance(event, ConnectionTerminated):
                self.is_over = True
                self.changes.tell()
                # The server has forgotten the connection before.
                ends.tell()
                if self.writer:
                    self.writer.transport.abort()
            elif self.http is None:
                self.early.append(event)
            else:
                self.handle(event)

        def handle(self, event):
            if isinstance(event, (StreamReset, StopSendingReceived)):
                way = self.near.get(event.stream_id)
                if way and not (way.is_answered and way.is_sent):
                    self.end(way, 8)
            for message in self.http.handle_event(event):
                if isinstance(message, HeadersReceived):
                    way = self.near.get(message.stream_id)
                    if way is None:
                        way = self.near[message.stream_id] = Way(message.stream_id, joined(message.headers))
                        way.has_ended = message.stream_ended
                    else:
                        way.trailers, way.has_ended = message.headers, True
                elif isinstance(message, DataReceived) and message.stream_id in self.near:
                    way = self.near[message.stream_id]
                    way.unsent.extend(message.data)
                    way.has_ended = way.has_ended or message.stream_ended
            self.flush()

        # The server

        async def run(self):
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            try:
                reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
                self.back = h2.connection.H2Connection(h2.config.H2Configuration(
                    client_side=True, header_encoding=None, validate_outbound_headers=False,
                    normalize_outbound_headers=False, validate_inbound_headers=False))
                self.back.initiate_connection()
                self.flush()
                is_reset = False
                while not self.is_over and not is_reset:
                    try:
                        data = await reader.read(1 << 16)
                    except OSError:
                        # The server has reset the connection: what came before still counts.
                        data = bytes(reader._buffer)
                        reader._buffer.clear()
                        is_reset = True
                    if not data:
                        break
                    for event in self.back.receive_data(data):
                        self.answer(event)
                    self.flush()
                    self.transmit()
                # What is on its way still arrives.
                self.leave()
                await self.changes.until(lambda: self.is_over or not (
                    self.resets or any(self.unsent(way) for way in self.near.values())))
                self.close(error_code=0x100)
            except Exception as error:
                if not isinstance(error, OSError):
                    print("front:", repr(error), file=sys.stderr)
                self.close(error_code=0x102)
            finally:
                self.is_over = True
                self.changes.tell()
                if self.writer:
                    self.writer.transport.abort()

        def answer(self, event):
            if isinstance(event, h2.events.RemoteSettingsChanged) and self.http is None:
                allows = self.back.remote_settings.enable_connect_protocol == 1
                self.http = (H3Connection if allows else PlainConnection)(self._quic)
                for early in self.early:
                    self.handle(early)
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.leave()
            way = self.far.get(getattr(event, "stream_id", None))
            if way is None:
                if isinstance(event, h2.events.DataReceived):
                    self.acknowledge(event.flow_controlled_length, event.stream_id)
                return
            is_end = getattr(event, "stream_ended", None) is not None
            try:
                if isinstance(event, (h2.events.ResponseReceived, h2.events.InformationalResponseReceived)):
                    self.http.send_headers(way.near, event.headers, end_stream=is_end)
                    way.has_answered = True
                elif isinstance(event, h2.events.TrailersReceived):
                    self.http.send_headers(way.near, event.headers, end_stream=True)
                    is_end = True
                elif isinstance(event, h2.events.DataReceived):
                    way.unacknowledged += event.flow_controlled_length
                    if event.data or is_end:
                        self.http.send_data(way.near, event.data, end_stream=is_end)
                elif isinstance(event, h2.events.StreamReset):
                    self.reset(way, event.error_code)
            except Exception:
                # The client has ended the stream.
                self.end(way, 8)
            way.is_answered = way.is_answered or is_end

        def reset(self, way, code):
            self.forget(way)
            self.resets.add(asyncio.ensure_future(self.reset_later(way, code)))

        async def reset_later(self, way, code):
            """A reset does not overtake what was said before, as in HTTP/2."""
            try:
                self.transmit()
                await self.changes.until(lambda: self.is_over or not self.unsent(way))
                if self.is_over:
                    return
                if not way.is_sent:
                    self._quic.stop_stream(way.near, CODES.get(code, 0x102))
                if not way.is_answered:
                    self._quic.reset_stream(way.near, CODES.get(code, 0x102))
                self.transmit()
            except Exception:
                # The client has ended the stream.
                pass
            finally:
                self.resets.discard(asyncio.current_task())
                self.changes.tell()

        def end(self, way, code):
            try:
                if way.far is not None:
                    self.back.reset_stream(way.far, code)
            except Exception:
                pass
            self.forget(way)
            self.flush()

        def forget(self, way):
            self.near.pop(way.near, None)
            self.far.pop(way.far, None)
            self.changes.tell()
            # The window of the connection is that of the other streams, too.
            if way.unacknowledged:
                self.acknowledge(way.unacknowledged, way.far)

        def acknowledge(self, count, stream):
            try:
                self.back.acknowledge_received_data(count, stream)
            except Exception:
                pass

        def leave(self):
            """RFC 9114 §5.2"""
            if self.is_leaving or self.http is None:
                return
            self.is_leaving = True
            last = max(list(self.near) + [-4]) + 4
            frame = encode_frame(FrameType.GOAWAY, encode_uint_var(last))
            self._quic.send_stream_data(self.http._local_control_stream_id, frame)
            self.transmit()

        # Flow

        def unsent(self, way):
            stream = self._quic._streams.get(way.near)
            return stream.sender._buffer_stop - stream.sender._buffer_start if stream else 0

        def drain(self):
            """The server may send as much as has left here."""
            if self.back is None or self.is_over:
                return
            for way in list(self.near.values()):
                if way.unacknowledged and self.unsent(way) < MOST_UNSENT:
                    count, way.unacknowledged = way.unacknowledged, 0
                    self.acknowledge(count, way.far)
            self.flush()

        def flush(self):
            if self.is_over or self.writer is None or self.back is None:
                return
            for way in list(self.near.values()):
                try:
                    self.send(way)
                except Exception:
                    self.forget(way)
            data = self.back.data_to_send()
            if data:
                self.writer.write(data)

        def send(self, way):
            if way.far is None:
                limit = self.back.remote_settings.max_concurrent_streams
                if self.back.open_outbound_streams >= limit:
                    return
                way.far = self.back.get_next_available_stream_id()
                self.far[way.far] = way
                way.is_sent = way.has_ended and not way.unsent and way.trailers is None
                self.back.send_headers(way.far, way.head, end_stream=way.is_sent)
            while way.unsent:
                count = min(len(way.unsent), self.back.local_flow_control_window(way.far),
                            self.back.max_outbound_frame_size)
                if count <= 0:
                    return
                self.back.send_data(way.far, bytes(way.unsent[:count]))
                del way.unsent[:count]
            if way.has_ended and not way.is_sent:
                way.is_sent = True
                if way.trailers is None:
                    self.back.end_stream(way.far)
                else:
                    self.back.send_headers(way.far, way.trailers, end_stream=True)

    retiring = set()

    async def retire(server):
        """Connections go on as long as the server's do."""
        await ends.until(lambda: not server._protocols)
        server.close()

    async def main():
        certificate, key = sys.argv[1:3]
        configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False, idle_timeout=300)
        configuration.load_cert_chain(certificate, key)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        fronts = {}
        while True:
            words = (await reader.readline()).decode().split()
            if not words:
                return
            port = int(words[1])
            if words[0] == "open":
                def create(*arguments, port=port, **options):
                    return Front(*arguments, port=port, **options)
                fronts[port] = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=create)
                print(port, fronts[port]._transport.get_extra_info("sockname")[1], flush=True)
            elif port in fronts:
                retiring.add(asyncio.ensure_future(retire(fronts.pop(port))))

    asyncio.run(main())
    """#
}
