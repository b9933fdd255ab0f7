import Foundation

/// What a client answers with.
struct Measurement: Decodable {
  var value: Double
  /// Bytes.
  var peakRSS: Double
  /// Bytes; 0 where it was not asked for.
  var memoryPerGet: Double
  /// Microseconds, by name, of a client that measures several things in one run.
  var figures: [String: Double]

  private enum CodingKeys: CodingKey { case value, peakRSS, memoryPerGet, figures }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    value = try container.decode(Double.self, forKey: .value)
    peakRSS = try container.decode(Double.self, forKey: .peakRSS)
    memoryPerGet = try container.decodeIfPresent(Double.self, forKey: .memoryPerGet) ?? 0
    figures = try container.decodeIfPresent([String: Double].self, forKey: .figures) ?? [:]
  }
}

/// Starts clients, one at a time: nothing else of ours runs meanwhile but the server.
struct Runner {
  let options: Options

  /// Runs everything in `group`, round by round, so that what else the machine does falls on all alike.
  func measure(_ group: Group) throws -> [Run: [Measurement]] {
    var measured: [Run: [Measurement]] = [:]
    let runs = group.runs
    for round in 1...options.rounds {
      for run in runs {
        log("\(group.name) round \(round)/\(options.rounds): \(run.client.rawValue) \(run.mode)")
        measured[run, default: []].append(try measure(run))
      }
    }
    return measured
  }

  private func measure(_ run: Run) throws -> Measurement {
    if case .large = run.load, ["memory", "file"].contains(run.mode) {
      FreshMemory.makeReady(bytes: 2 * options.largeBytes)
    }
    if case .upload = run.load { FreshMemory.makeReady(bytes: 2 * options.largeBytes) }
    if case .files(.one) = run.load { FreshMemory.makeReady(bytes: options.hugeBytes) }
    let process = Process()
    // aria2 and curl that download files are started by the program that measures the service.
    let path = isOfService(run.load) ? Client.service.path : run.client.path
    let program = "\(options.directory)/\(path)"
    if isOfService(run.load) {
      try FileManager.default.createDirectory(atPath: options.disk, withIntermediateDirectories: true)
    }
    if case .overLink = run.load {
      process.executableURL = URL(fileURLWithPath: options.link)
      process.arguments = [program] + arguments(for: run)
    } else if case .mock = run.load {
      // To wake another processor takes a virtual machine longer than all that is measured, or not, as it likes.
      process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
      process.arguments = ["--cpu-list", "0", program] + arguments(for: run)
    } else {
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments(for: run)
    }
    var environment = ProcessInfo.processInfo.environment
    environment["TMPDIR"] = options.scratch
    // Each run begins without what others have stored, and the user's own is left alone.
    environment["XDG_CACHE_HOME"] = "\(options.scratch)/cache-home"
    environment["XDG_DATA_HOME"] = "\(options.scratch)/data-home"
    environment["XDG_STATE_HOME"] = "\(options.scratch)/state-home"
    environment = environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
    // Otherwise ours reads the machine's authorities too, and the peers only that of the run.
    environment["SSL_CERT_DIR"] = nil
    if isSecure(run.load) {
      let trust = run.client.environment(trusting: options.certificateAuthority, in: options.directory)
      environment.merge(trust) { _, new in new }
    }
    if case .proxied = run.load {
      environment.merge(run.client.environment(going: options.proxyURL)) { _, new in new }
    }
    if case .looped(let loops, _, _) = run.load {
      environment.merge(run.client.environment(loops: loops)) { _, new in new }
    }
    if case .bounded(let loops, _) = run.load {
      // One host has half of the loops of ours.
      let made = run.client == .ours && loops > 1 ? loops * 2 : loops
      environment.merge(run.client.environment(loops: made)) { _, new in new }
      environment["LD_PRELOAD"] = "\(options.directory)/Counting/.build/loops.so"
      environment["LOOP_PERCENT"] = "10"
    }
    if let counting = run.counting {
      environment["LD_PRELOAD"] = "\(options.directory)/Counting/.build/\(counting.rawValue).so"
    }
    if run.counting == .instructions {
      let count = try InstructionCounting(program, in: options.scratch)
      process.executableURL = URL(fileURLWithPath: InstructionCounting.program)
      // Later options win. Under callgrind a program takes a while to begin.
      process.arguments = count.arguments + arguments(for: run) + ["--warmup", "3", "--seconds", "3"]
      environment["INSTRUCTIONS"] = count.file
    }
    process.environment = environment
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let watchdog = DispatchWorkItem { process.terminate() }
    DispatchQueue.global().asyncAfter(deadline: .now() + limit(run.load), execute: watchdog)
    let answer = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    watchdog.cancel()
    try removeDownloads()
    try? FileManager.default.removeItem(atPath: options.disk)
    let what = "\(run.client.rawValue) \(process.arguments?.joined(separator: " ") ?? "")"
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw ComparisonError("\(what)\n  ended with status \(process.terminationStatus)")
    }
    guard let measurement = try? JSONDecoder().decode(Measurement.self, from: answer) else {
      throw ComparisonError("\(what)\n  answered: \(String(decoding: answer, as: UTF8.self))")
    }
    return measurement
  }

  private func arguments(for run: Run) -> [String] {
    switch run.load {
    case .small(let connections): smallArguments(run.mode, options.httpURL, connections)
    case .basic(let connections):
      smallArguments(run.mode, options.httpURL + "/members", connections) + ["--user", "ann:secret"]
    case .reloaded(let control, let connections, let hasStores):
      smallArguments(run.mode, "\(options.httpURL)/\(control.rawValue)", connections)
        + (hasStores ? ["--stores", "default"] : [])
    case .hits:
      timedArguments("cache", run.mode, "/cacheable/small")
    case .entries(let count):
      timedArguments("cache", run.mode, "/small") + ["--count", "\(count)"]
    case .cookies(let count):
      timedArguments("cookies", run.mode, "/small") + ["--count", "\(count)"]
    case .mock: timedArguments("mock", run.mode, "/small")
    case .tasks(let count):
      [
        "tasks", "--mode", run.mode, "--count", "\(count)", "--connections", "6", "--bytes", "\(options.smallBytes)",
        "--url", "\(options.httpURL)/small",
      ]
    case .streams(let concurrent):
      smallArguments(run.mode, options.http2URL, concurrent) + [
        "--protocol", "h2", "--ca", options.certificateAuthority,
      ]
    case .quicStreams(let wire, let concurrent):
      smallArguments(run.mode, url(for: wire), concurrent) + version(of: wire) + [
        "--ca", options.certificateAuthority,
      ]
    case .overLink(let load): linkArguments(load, run.mode)
    case .firstBytes:
      timedArguments("first", run.mode, "/small", at: options.oneRequestQUICURL) + version(of: .h3)
        + ["--ca", options.certificateAuthority]
    case .proxied(let use, let connections):
      smallArguments(run.mode, options.proxiedURL, connections)
        + [use == .tunnel ? "--tunnel" : "--proxy", options.proxyURL]
    case .concurrent(let tasks, let connections):
      smallArguments(run.mode, options.httpURL, connections) + ["--concurrent", "\(tasks)"]
    case .looped(let loops, let connections, let hosts):
      smallArguments(run.mode, hosts == 1 ? options.httpURL : options.scatteredURL, connections)
        + ["--hosts", "\(hosts)"]
        + (run.client == .libcurlMulti ? ["--threads", "\(loops)"] : [])
    case .bounded(_, let connections): smallArguments(run.mode, options.httpURL, connections)
    case .handshakes(let handshake, let concurrent):
      smallArguments(run.mode, handshake == .full ? options.fullURL : options.resumedURL, concurrent)
        + ["--ca", options.certificateAuthority]
    case .sized(let bytes):
      [
        "large", "--mode", run.mode, "--bytes", "\(bytes)", "--least", "\(options.seconds)",
        "--url", "\(options.httpURL)/sized/\(bytes)",
      ]
    case .scattered(let count):
      [
        "scattered", "--mode", run.mode, "--count", "\(count)", "--bytes", "\(options.smallBytes)",
        "--url", "\(options.scatteredURL)/small",
      ]
    case .one: ["one", "--mode", run.mode, "--bytes", "\(options.smallBytes)", "--url", "\(options.httpURL)/small"]
    case .start:
      [
        "start", "--mode", run.mode, "--seconds", "\(options.seconds)", "--bytes", "\(options.smallBytes)",
        "--url", "\(options.httpURL)/small", "--programs", "\(options.directory)/.build/release",
      ]
    case .upload(let wire):
      [
        "upload", "--mode", run.mode, "--bytes", "\(options.largeBytes)", "--source", "\(options.files)/large",
        "--url", url(for: wire) + "/uploads/large",
      ] + (wire == .http ? [] : ["--ca", options.certificateAuthority]) + version(of: wire)
    case .large(let wire):
      [
        "large", "--mode", run.mode, "--bytes", "\(options.largeBytes)", "--directory", options.scratch,
        "--url", url(for: wire) + "/large",
      ] + (isSecure(run.load) ? ["--ca", options.certificateAuthority] : [])
        + version(of: wire)
    case .queue(let count): serviceArguments("queue", run.mode) + ["--count", "\(count)"]
    case .files(.many):
      serviceArguments("files", run.mode, path: "/many", bytes: options.smallBytes)
        + ["--count", "2000", "--connections", "6", "--source", "\(options.files)/many"]
    case .files(.one):
      serviceArguments("files", run.mode, path: "/huge", bytes: options.hugeBytes)
        + ["--count", "1", "--source", options.files]
    case .idle: serviceArguments("idle", run.mode) + ["--seconds", "60"]
    }
  }

  private func smallArguments(_ mode: String, _ server: String, _ connections: Int) -> [String] {
    [
      "small", "--mode", mode, "--connections", "\(connections)", "--seconds", "\(options.seconds)",
      "--warmup", "0.5", "--bytes", "\(options.smallBytes)", "--url", "\(server)/small",
    ]
  }

  /// The service's files are on a disk: what it costs to have them there is part of what is measured.
  private func serviceArguments(_ work: String, _ mode: String, path: String = "/small", bytes: Int = 0) -> [String] {
    [
      work, "--mode", mode, "--bytes", "\(bytes)", "--url", options.httpURL + path, "--directory", options.disk,
      "--programs", "\(options.directory)/.build/release",
    ]
  }

  /// Seconds after which a run has failed.
  private func limit(_ load: Run.Load) -> Double {
    switch load {
    case .queue, .files, .idle: 600
    case .overLink: 300
    default: 120
    }
  }

  private func isOfService(_ load: Run.Load) -> Bool {
    switch load {
    case .queue, .files, .idle: true
    default: false
    }
  }

  /// For a client that times calls one by one.
  private func timedArguments(_ work: String, _ mode: String, _ path: String, at server: String? = nil) -> [String] {
    [
      work, "--mode", mode, "--seconds", "\(options.seconds)", "--warmup", "0.5", "--bytes", "\(options.smallBytes)",
      "--directory", options.scratch, "--url", (server ?? options.httpURL) + path,
    ]
  }

  private func url(for wire: Run.Wire) -> String {
    switch wire {
    case .http: options.httpURL
    case .https: options.httpsURL
    case .h2: options.http2URL
    case .h3: options.quicURL
    case .h2BesideH3: options.besideQUICURL
    }
  }

  func version(of wire: Run.Wire) -> [String] {
    switch wire {
    case .http, .https: []
    case .h2, .h2BesideH3: ["--protocol", "h2"]
    case .h3: ["--protocol", "h3"]
    }
  }

  private func isSecure(_ load: Run.Load) -> Bool {
    switch load {
    case .streams, .quicStreams, .firstBytes, .overLink, .handshakes: true
    case .large(let wire), .upload(let wire): wire != .http
    default: false
    }
  }

  /// What one run wrote must not fill the disk, nor be written back while the next one is measured.
  private func removeDownloads() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: options.scratch) {
      try FileManager.default.removeItem(atPath: "\(options.scratch)/\(name)")
    }
  }

  private func log(_ line: String) {
    FileHandle.standardError.write(Data("bench: \(line)\n".utf8))
  }
}
