import FuzzTargets
import Glibc

/// What libFuzzer calls with each input. The environment names the target: one program holds them all.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do { try target.check(Array(UnsafeBufferPointer(start: start, count: count))) } catch { fatalError("\(error)") }
  return 0
}

private let target: FuzzTarget = {
  let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
  guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
    fatalError("FUZZ_TARGET is none of: \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
  }
  return target
}()
