extension Int64 {
  /// The sum, or the largest number there is: the sizes of files are what other programs make them.
  func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}
