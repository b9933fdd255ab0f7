extension PythonHTTP3 {
  /// What the server does that the protocol forbids, or that costs its client much:
  ///
  /// `/half-frame`, a frame that the stream's end cuts off; `/no-response`, an end alone; `/data-first`, a body without a
  /// head; `/push`, a promise that the client has not permitted; `/close-control`, the end of the control stream;
  /// `/settings-twice`; `/bad-encoder` and `/bad-decoder`, instructions of QPACK that make no sense; `/server-stream`, a stream
  /// that only clients may open; `/over-limit`, bytes behind the stream's window; `/forgotten`, a stateless reset; `/silent`,
  /// nothing; `/endless-head`, fields without end; `/interim-flood`, interim responses without end; `/qpack-bomb`, a field of
  /// 4 KB that each byte of the head repeats; `/grease`, frames and streams of unknown types before a good answer;
  /// `/held/N`, answers only to the first half of eight requests, with a GOAWAY before the second half.
  static let faults = #"""
    import asyncio, os
    from aioquic.buffer import encode_uint_var
    from aioquic.h3.connection import FrameType, encode_frame

    held = []
    went_away = False

    def answer(server, stream, name, argument):
        """Whether the path is one of these."""
        action = actions.get(name)
        if action is None:
            return False
        action(server, stream, argument)
        return True

    def send(server, stream, data, end=False):
        server._quic.send_stream_data(stream, data, end)

    def on_control_stream(data, end=False):
        return lambda server, stream, argument: send(server, server.http._local_control_stream_id, data, end)

    def on_stream(data, end=True):
        return lambda server, stream, argument: send(server, stream, data, end)

    def forgotten(server, stream, argument):
        server.head(stream)
        server.body(stream, b"a part", end=False)
        server.transmit()
        token = server._quic._host_cids[0].stateless_reset_token
        server._transport.sendto(b"\x41" + os.urandom(40) + token, server._quic._network_paths[0].addr)

    def over_limit(server, stream, argument):
        server._quic._remote_max_data = 1 << 40
        server._quic._streams[stream].max_stream_data_remote = 1 << 40
        sender = server._quic._streams[stream].sender
        sender._buffer_start = sender._buffer_stop = 64 << 20
        send(server, stream, b"far behind", True)

    async def endlessly(server, stream, piece):
        """As long as the client wants it, and no more than it lets through."""
        try:
            while stream in server._quic._streams and server._quic._close_event is None:
                sender = server._quic._streams[stream].sender
                if sender._buffer_stop - sender._buffer_start < 1 << 18:
                    send(server, stream, piece)
                    server.transmit()
                await asyncio.sleep(0.001)
        except Exception:
            pass

    def endless_head(server, stream, argument):
        # The length of a head of a TiB, :status 200, and literal fields.
        send(server, stream, b"\x01" + encode_uint_var(1 << 40) + b"\x00\x00\xd9")
        server.endless = asyncio.ensure_future(endlessly(server, stream, b"\x23x-a\x01b" * 2000))

    def interim_flood(server, stream, argument):
        block = encode_frame(FrameType.HEADERS, b"\x00\x00\xd8")
        server.endless = asyncio.ensure_future(endlessly(server, stream, block * 100))

    def qpack_bomb(server, stream, argument):
        insert = b"\x3f" + integer(4096 - 31) + b"\x46x-bomb" + b"\x7f" + integer(3900 - 127) + b"y" * 3900
        send(server, server.http._local_encoder_stream_id, insert)
        send(server, stream, encode_frame(FrameType.HEADERS, b"\x02\x00\xd9" + b"\x80" * 100000), True)

    def integer(value):
        """The rest of a number behind a full prefix (RFC 7541 §5.1)."""
        rest = bytearray()
        while value >= 128:
            rest.append(value & 127 | 128)
            value >>= 7
        rest.append(value)
        return bytes(rest)

    def grease(server, stream, argument):
        unknown = server._quic.get_next_available_stream_id(is_unidirectional=True)
        send(server, unknown, encode_uint_var(0x21 + 0x1f * 5) + b"z" * 100000, True)
        send(server, stream, encode_frame(0x21, b"unknown"))
        server.head(stream)
        send(server, stream, encode_frame(0x21 + 0x1f * 7, b""))
        server.body(stream, b"greased")

    def server_stream(server, stream, argument):
        server._quic._remote_max_streams_bidi = server._quic._remote_max_stream_data_bidi_remote = 1000
        send(server, server._quic.get_next_available_stream_id(), b"hello")

    def hold(server, stream, argument):
        global went_away
        if went_away:
            server.head(stream)
            return server.body(stream, argument.encode())
        held.append((stream, argument))
        if len(held) < 8:
            return
        went_away = True
        last = sorted(held)[4][0]
        send(server, server.http._local_control_stream_id, encode_frame(FrameType.GOAWAY, encode_uint_var(last)))
        for stream, argument in held:
            if stream < last:
                server.head(stream)
                server.body(stream, argument.encode())

    actions = {
        "half-frame": on_stream(b"\x01\x40\x64\x00\x00\xd9"),
        "no-response": on_stream(b""),
        "data-first": on_stream(encode_frame(FrameType.DATA, b"body")),
        "push": on_stream(encode_frame(FrameType.PUSH_PROMISE, b"\x00\x00\x00\xd9")),
        "close-control": on_control_stream(b"", True),
        "settings-twice": on_control_stream(encode_frame(FrameType.SETTINGS, b"")),
        "bad-encoder": lambda server, stream, argument: send(
            server, server.http._local_encoder_stream_id, b"\xff\x80\x7f\x00"),
        "bad-decoder": lambda server, stream, argument: send(server, server.http._local_decoder_stream_id, b"\x00"),
        "server-stream": server_stream,
        "over-limit": over_limit,
        "forgotten": forgotten,
        "silent": lambda server, stream, argument: None,
        "endless-head": endless_head,
        "interim-flood": interim_flood,
        "qpack-bomb": qpack_bomb,
        "grease": grease,
        "held": hold,
    }
    """#
}
