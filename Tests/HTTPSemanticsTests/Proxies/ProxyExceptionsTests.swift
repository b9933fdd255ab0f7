import HTTPSemantics
import Testing

@Suite struct ProxyExceptionsTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let list: String
    let host: String
    var port = 80
    let noProxy: Bool
    let exceptionsList: Bool
    var testDescription: String { "\(list) and \(host):\(port)" }
  }

  static let rows: [Row] = [
    Row(list: "example.com", host: "example.com", noProxy: true, exceptionsList: true),
    Row(list: "example.com", host: "www.example.com", noProxy: true, exceptionsList: false),
    Row(list: "example.com", host: "notexample.com", noProxy: false, exceptionsList: false),
    Row(list: "example.com", host: "example.com.", noProxy: true, exceptionsList: true),
    Row(list: "Example.COM.", host: "example.com", noProxy: true, exceptionsList: true),
    Row(list: ".example.com", host: "www.example.com", noProxy: true, exceptionsList: true),
    Row(list: ".example.com", host: "example.com", noProxy: true, exceptionsList: false),
    Row(list: "*.example.com", host: "a.b.example.com", noProxy: true, exceptionsList: true),
    Row(list: "*.example.com", host: "example.com", noProxy: true, exceptionsList: false),
    Row(list: "*.local", host: "printer.local", noProxy: true, exceptionsList: true),
    Row(list: "www.*.example", host: "www.a.b.example", noProxy: true, exceptionsList: true),
    Row(list: "www.*.example", host: "ftp.a.example", noProxy: false, exceptionsList: false),
    Row(list: "*", host: "anything", noProxy: true, exceptionsList: true),
    Row(list: "<local>", host: "intranet", noProxy: true, exceptionsList: true),
    Row(list: "<local>", host: "intranet.example", noProxy: false, exceptionsList: false),
    Row(list: "<local>", host: "::1", noProxy: false, exceptionsList: false),
    Row(list: "10.0.0.0/8", host: "10.9.8.7", noProxy: true, exceptionsList: true),
    Row(list: "10.0.0.0/8", host: "11.9.8.7", noProxy: false, exceptionsList: false),
    Row(list: "169.254/16", host: "169.254.3.4", noProxy: true, exceptionsList: true),
    Row(list: "192.168.128/17", host: "192.168.129.1", noProxy: true, exceptionsList: true),
    Row(list: "192.168.128/17", host: "192.168.1.1", noProxy: false, exceptionsList: false),
    Row(list: "10.0.0.0/8", host: "10.example", noProxy: false, exceptionsList: false),
    Row(list: "10.0.0.0/33", host: "10.0.0.0", noProxy: false, exceptionsList: false),
    Row(list: "fd00::/8", host: "fd12::1", noProxy: true, exceptionsList: true),
    Row(list: "[fd00::]/8", host: "fd12::1", noProxy: true, exceptionsList: true),
    Row(list: "fd00::/8", host: "fe80::1", noProxy: false, exceptionsList: false),
    Row(list: "192.0.2.1", host: "192.0.2.1", noProxy: true, exceptionsList: true),
    Row(list: "2001:db8:0::1", host: "2001:db8::1", noProxy: true, exceptionsList: true),
    Row(list: "[::1]:8080", host: "::1", port: 8_080, noProxy: true, exceptionsList: true),
    Row(list: "[::1]:8080", host: "::1", port: 80, noProxy: false, exceptionsList: false),
    Row(list: "a.example:8080", host: "a.example", port: 8_080, noProxy: true, exceptionsList: true),
    Row(list: "a.example:8080", host: "a.example", port: 80, noProxy: false, exceptionsList: false),
    Row(list: "a.example:no", host: "a.example", noProxy: false, exceptionsList: false),
    Row(list: "", host: "a.example", noProxy: false, exceptionsList: false),
  ]

  @Test(arguments: rows) func hostsMatchExceptions(row: Row) {
    let destination = ProxyDestination(scheme: "http", host: row.host, port: row.port)
    #expect(ProxyExceptions([row.list], dialect: .noProxy).contains(destination) == row.noProxy)
    #expect(ProxyExceptions([row.list], dialect: .exceptionsList).contains(destination) == row.exceptionsList)
  }

  @Test(arguments: ["b.example, c.example ,localhost", "b.example c.example", ",,c.example,"])
  func noProxyIsParsedAsAList(value: String) {
    let exceptions = ProxyExceptions(noProxy: value)
    #expect(exceptions.contains(ProxyDestination(scheme: "http", host: "c.example", port: 1)))
    #expect(!exceptions.contains(ProxyDestination(scheme: "http", host: "d.example", port: 1)))
  }
}
