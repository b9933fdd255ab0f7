#!/usr/bin/env python3
"""A server of HTTP/3 that answers 1 KiB to each request and serves one request a connection. It takes early data.

usage: server.py ADDRESS PORT CERTIFICATE KEY FILE [SECONDS]

It says so many SECONDS after the answer that it takes no other request: over a link with a delay the next ticket is still on
its way when the answer is there."""
import asyncio, sys
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3_ALPN, FrameType, H3Connection, encode_frame
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated

body = open(sys.argv[5], "rb").read()
seconds = float(sys.argv[6]) if len(sys.argv) > 6 else 0
tickets = {}


class Server(QuicConnectionProtocol):
    http = None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        for message in self.http.handle_event(event) if self.http else []:
            if not isinstance(message, HeadersReceived):
                continue
            stream = message.stream_id
            if not seconds:
                self.end_after(stream)
            self.http.send_headers(stream, [(b":status", b"200"), (b"content-length", b"%d" % len(body))])
            self.http.send_data(stream, body, end_stream=True)
            if seconds:
                self._loop.call_later(seconds, lambda: (self.end_after(stream), self.transmit()))

    def end_after(self, stream):
        last = encode_frame(FrameType.GOAWAY, encode_uint_var(stream + 4))
        self._quic.send_stream_data(self.http._local_control_stream_id, last)


async def main():
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
    configuration.load_cert_chain(sys.argv[3], sys.argv[4])
    await serve(
        sys.argv[1], int(sys.argv[2]), configuration=configuration, create_protocol=Server,
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}))
    await asyncio.Future()


asyncio.run(main())
