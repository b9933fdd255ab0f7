import Foundation
import Synchronization

/// Counts responses from any thread.
public final class ResponseCounter: Sendable {
  private let responses = Atomic(0)

  public init() {}

  public func add() { responses.wrappingAdd(1, ordering: .relaxed) }

  var value: Int { responses.load(ordering: .relaxed) }

  /// Lets the workers run: first uncounted, then counted. Reports responses a second, the processor time of a response in
  /// microseconds, and blocks of the heap and instructions a response where they are counted, and ends the process, which is
  /// what stops the workers.
  public func report(_ assignment: Assignment) async throws -> Never {
    let clock = ContinuousClock()
    try await Task.sleep(for: .seconds(assignment.warmup))
    InstructionCount.begin()
    let (start, before, blocksBefore, usedBefore) = (clock.now, value, HeapCount.value, processorSeconds())
    try await Task.sleep(for: .seconds(assignment.seconds))
    let (end, after, blocksAfter, usedAfter) = (clock.now, value, HeapCount.value, processorSeconds())
    let instructions = InstructionCount.end()
    guard after > before else { fail("no response came while they were counted") }
    var figures = ["processor": (usedAfter - usedBefore) * 1e6 / Double(after - before)]
    if let blocksBefore, let blocksAfter {
      figures["allocations"] = Double(blocksAfter - blocksBefore) / Double(after - before)
    }
    if let instructions { figures["instructions"] = Double(instructions) / Double(after - before) }
    finish(value: Double(after - before) / start.duration(to: end).inSeconds, figures: figures)
  }
}

/// Runs `load` once, or again until the assignment's time is over, reports its megabytes (10⁶ bytes) a second, and ends the
/// process.
public func reportThroughput(of assignment: Assignment, _ load: () async throws -> Void) async throws -> Never {
  let clock = ContinuousClock()
  let start = clock.now
  var loads = 0
  var time = Duration.zero
  repeat {
    try await load()
    loads += 1
    time = start.duration(to: clock.now)
  } while time < .seconds(assignment.least)
  finish(value: Double(loads * assignment.bytes) / 1e6 / time.inSeconds)
}

/// Runs `load` once, reports its GETs a second and the memory that each of them took at the most, and ends the process.
///
/// The memory is what the process had resident at its peak beyond what it had before it began.
public func reportRate(of assignment: Assignment, _ load: () async throws -> Void) async throws -> Never {
  let clock = ContinuousClock()
  let before = memory("VmRSS:")
  let time = try await clock.measure { try await load() }
  let perGet = Double(max(peakResidentBytes() - before, 0)) / Double(assignment.count)
  finish(value: Double(assignment.count) / time.inSeconds, memoryPerGet: perGet)
}

/// Runs `load` once, reports the memory that is resident afterwards in MiB, and ends the process.
public func reportMemory(after load: () async throws -> Void) async throws -> Never {
  try await load()
  finish(figures: ["resident": Double(memory("VmRSS:")) / 1_048_576])
}

/// A kind of call that is timed one by one.
public struct TimedCall<Answer> {
  /// The figure's name in the result.
  var name: String
  var call: () async throws -> Answer
  /// Ends the process unless the answer is right. Not timed.
  var check: (Answer) -> Void
  /// When the answer was there, for a call whose way back to the measuring task is none of its own; nil for the moment
  /// when it returns.
  var end: (Answer) -> ContinuousClock.Instant?

  public init(
    _ name: String, call: @escaping () async throws -> Answer, check: @escaping (Answer) -> Void,
    end: @escaping (Answer) -> ContinuousClock.Instant? = { _ in nil }
  ) {
    self.name = name
    self.call = call
    self.check = check
    self.end = end
  }
}

/// Makes the calls in turn, first untimed, then timed. Reports the median time of each kind in microseconds, with
/// `figures` that were measured before, and ends the process.
public func reportTimes<Answer>(
  of calls: [TimedCall<Answer>], with figures: [String: Double] = [:], _ assignment: Assignment
) async throws -> Never {
  let clock = ContinuousClock()
  let start = clock.now + .seconds(assignment.warmup)
  let end = start + .seconds(assignment.seconds)
  var times = calls.map { _ in [Duration]() }
  while clock.now < end {
    let isCounted = clock.now >= start
    for (index, call) in calls.enumerated() {
      let before = clock.now
      let answer = try await call.call()
      let returned = clock.now
      let time = before.duration(to: call.end(answer) ?? returned)
      call.check(answer)
      if isCounted { times[index].append(time) }
    }
  }
  var figures = figures
  for (call, times) in zip(calls, times) {
    guard !times.isEmpty else { fail("\(call.name) took longer than the time for all") }
    figures[call.name] = times.sorted()[times.count / 2].inMicroseconds
  }
  finish(figures: figures)
}

/// Reports what a client has measured by its own means, and ends the process.
///
/// - Parameter peakRSS: bytes.
public func report(value: Double = 0, peakRSS: Int = 0, figures: [String: Double] = [:]) -> Never {
  finish(value: value, peakRSS: peakRSS, figures: figures)
}

/// Prints the one line that a client answers with, and ends the process.
///
/// - Parameter peakRSS: nil: that of this process.
private func finish(
  value: Double = 0, memoryPerGet: Double = 0, peakRSS: Int? = nil, figures: [String: Double] = [:]
) -> Never {
  let named = figures.map { name, figure in #""\#(name)": \#(figure)"# }.joined(separator: ", ")
  let memory = #""peakRSS": \#(peakRSS ?? peakResidentBytes()), "memoryPerGet": \#(memoryPerGet)"#
  print(#"{"value": \#(value), \#(memory), "figures": {\#(named)}}"#)
  exit(0)
}

/// Seconds that the threads of this process have run.
private func processorSeconds() -> Double {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
  return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The most memory this process ever had resident, in bytes, from the kernel's own record.
private func peakResidentBytes() -> Int { memory("VmHWM:") }

/// One of the kernel's figures about this process, in bytes.
private func memory(_ name: String) -> Int {
  guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
  for line in status.split(separator: "\n") where line.hasPrefix(name) {
    let kilobytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
    return (kilobytes ?? 0) * 1024
  }
  return 0
}

extension Duration {
  public var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  public var inMicroseconds: Double { inSeconds * 1e6 }
}

/// Uses a value where the optimizer cannot see that it is of no use, so that computing it is not optimized away.
@inline(never)
public func keep(_ value: UInt8) {
  withExtendedLifetime(value) {}
}
