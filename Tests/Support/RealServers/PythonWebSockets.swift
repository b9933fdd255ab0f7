import Foundation

/// Starts a server of Python's `websockets`, for tests of WebSocket tasks.
///
/// Paths: `/echo` sends every message back; `/upper` takes the subprotocols `chat.v2` and `chat`; `/close/CODE/REASON`
/// closes after the first message; `/fragments` answers a number with a text of so many fragments; `/ping` pings the
/// client and says what became of it; `/private` answers 401 unless `Authorization: Bearer secret` is sent; `/moved`
/// redirects to `/echo`; `/deflate/OPTION…` echoes with terms of permessage-deflate that the path names.
package enum PythonWebSockets {
  /// Debian's interpreter, which its packages are for: another one may come first in `PATH`.
  private static let interpreter = "/usr/bin/python3"
  package static let packageName = "python3-websockets"

  /// Whether a test that needs it should run: it is installed, or its absence must be a failure.
  package static var runsHere: Bool {
    FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/websockets")
      || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty
  }

  /// What a skipped test says.
  package static var advice: String { "Python's websockets is missing: apt-get install \(packageName)" }

  /// - Parameter tls: Certificate for a second port with TLS; nil for none.
  package static func start(tls: TLSFiles? = nil) async throws -> RealServer {
    let server = InstalledServer(program: interpreter, package: packageName)
    return try await RealServer.start(server, tls: tls, documentRoot: nil) { site in
      try site.folder.write(script, to: "server.py")
      var arguments = ["-u", site.folder.file("server.py"), String(site.port)]
      if let tls = site.tls, let port = site.securePort {
        arguments += [String(port), tls.certificateFile, tls.keyFile]
      }
      return arguments
    }
  }

  private static let script = """
    import asyncio, http, ssl, sys
    import websockets
    from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory

    async def serve(socket):
        path = socket.path
        if path.startswith("/close/"):
            _, _, code, reason = path.split("/", 3)
            await socket.recv()
            await socket.close(int(code), reason)
        elif path == "/fragments":
            async for message in socket:
                await socket.send(f"{number};" for number in range(int(message)))
        elif path == "/ping":
            await (await socket.ping(b"marco"))
            await socket.send("polo")
            await socket.wait_closed()
        elif path == "/upper":
            await socket.send(socket.subprotocol or "-")
            async for message in socket:
                await socket.send(message.upper())
        else:
            async for message in socket:
                await socket.send(message)

    def before(path, headers):
        if path == "/private" and headers.get("Authorization") != "Bearer secret":
            return http.HTTPStatus.UNAUTHORIZED, [("WWW-Authenticate", "Bearer")], b"no"
        if path == "/moved":
            return http.HTTPStatus.FOUND, [("Location", "/echo")], b""

    class Protocol(websockets.WebSocketServerProtocol):
        async def process_request(self, path, headers):
            if path.startswith("/deflate/"):
                options = {}
                for option in path.split("/")[2:]:
                    name, _, value = option.partition("=")
                    options[name] = int(value) if value else True
                self.available_extensions = [ServerPerMessageDeflateFactory(**options)]
            elif path == "/plain":
                self.available_extensions = []
            return before(path, headers)

    async def main():
        options = dict(create_protocol=Protocol, max_size=64 << 20, subprotocols=["chat.v2", "chat"])
        # No ping time-out: on a busy machine it would end connections.
        options.update(ping_interval=None)
        servers = [await websockets.serve(serve, "127.0.0.1", int(sys.argv[1]), **options)]
        if len(sys.argv) > 2:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[3], sys.argv[4])
            servers.append(await websockets.serve(serve, "127.0.0.1", int(sys.argv[2]), ssl=context, **options))
        await asyncio.Future()

    asyncio.run(main())
    """
}
