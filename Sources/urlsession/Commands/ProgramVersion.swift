import ArgumentParser

enum ProgramVersion {
  static let current = "0.1.0"
}
