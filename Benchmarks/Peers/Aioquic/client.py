#!/usr/bin/env python3
"""aioquic's client, with the command line of the others (Sources/Harness/Assignment.swift)."""
import argparse, asyncio, json, resource, sys, time
from urllib.parse import urlparse
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http = H3Connection(self._quic)
        self.loads = {}

    def load(self, url, sink):
        """The status and how many bytes came, when they are all here."""
        stream = self._quic.get_next_available_stream_id()
        self.loads[stream] = [None, 0, sink, self._loop.create_future()]
        self.http.send_headers(stream, [
            (b":method", b"GET"), (b":scheme", b"https"), (b":authority", url.netloc.encode()),
            (b":path", url.path.encode())], end_stream=True)
        self.transmit()
        return self.loads[stream][3]

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            for load in self.loads.values():
                if not load[3].done():
                    load[3].set_exception(ConnectionError(event.reason_phrase))
        for message in self.http.handle_event(event):
            load = self.loads.get(message.stream_id)
            if load is None:
                continue
            if isinstance(message, HeadersReceived):
                load[0] = int(dict(message.headers)[b":status"])
            elif isinstance(message, DataReceived):
                load[1] += len(message.data)
                load[2](message.data)
            if message.stream_ended:
                del self.loads[message.stream_id]
                if not load[3].done():
                    load[3].set_result(load[:2])


def verify(answer, expected):
    if answer != [200, expected]:
        sys.exit(f"client: status and bytes {answer} instead of 200 and {expected}")


def finish(value=0.0, figures=None):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"value": value, "peakRSS": peak, "memoryPerGet": 0, "figures": figures or {}}))


def processor():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def small(options, client, url):
    count = 0

    async def work():
        nonlocal count
        while True:
            verify(await client.load(url, lambda data: None), options.bytes)
            count += 1

    workers = [asyncio.ensure_future(work()) for _ in range(options.connections)]
    await asyncio.sleep(options.warmup)
    start, before, used = time.monotonic(), count, processor()
    await asyncio.sleep(options.seconds)
    end, after = time.monotonic(), count
    for worker in workers:
        if worker.done():
            worker.result()
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    finish((after - before) / (end - start), {"processor": (processor() - used) * 1e6 / max(1, after - before)})


async def large(options, client, url):
    kept = bytearray()
    file = open(options.directory + "/aioquic.download", "wb") if options.mode == "file" else None
    start = time.monotonic()
    verify(await client.load(url, file.write if file else kept.extend), options.bytes)
    if file:
        file.close()
    finish(options.bytes / 1e6 / (time.monotonic() - start))


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    for name in ("mode", "url", "ca", "protocol", "directory"):
        parser.add_argument("--" + name)
    for name in ("bytes", "connections"):
        parser.add_argument("--" + name, type=int, default=1)
    for name in ("warmup", "seconds"):
        parser.add_argument("--" + name, type=float, default=0.5)
    options = parser.parse_args()
    url = urlparse(options.url)
    # The body may be as long as the file: the window must not be what is measured.
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=H3_ALPN, server_name=url.hostname, max_data=16 << 20, max_stream_data=8 << 20)
    configuration.load_verify_locations(options.ca)
    async with connect(url.hostname, url.port, configuration=configuration, create_protocol=Client) as client:
        await (small if options.work == "small" else large)(options, client, url)


asyncio.run(main())
