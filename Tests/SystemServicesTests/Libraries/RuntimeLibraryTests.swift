import Testing

@testable import SystemServices

@Suite struct RuntimeLibraryTests {
  @Test func libraryThatIsNotInstalledIsNone() {
    #expect(RuntimeLibrary(named: "libnowhere.so.7") == nil)
  }

  @Test func functionsAreFoundByTheirNames() throws {
    let library = try #require(RuntimeLibrary(named: "libc.so.6"))
    let absolute: @convention(c) (CInt) -> CInt = try library.function("abs")
    #expect(absolute(-7) == 7)
    #expect(throws: RuntimeLibrary.MissingFunction.self) {
      let _: @convention(c) () -> Void = try library.function("no_such_function")
    }
  }
}
