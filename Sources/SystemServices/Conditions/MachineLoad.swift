import Glibc

/// The load of the machine.
enum MachineLoad {
  /// The average of the last minute for each processor; nil where the kernel does not tell.
  static var perProcessor: Double? {
    var average = 0.0
    let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    guard getloadavg(&average, 1) == 1, processors > 0 else { return nil }
    return average / Double(processors)
  }
}
