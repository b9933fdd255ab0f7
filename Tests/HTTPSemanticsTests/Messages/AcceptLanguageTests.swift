import HTTPSemantics
import Testing

@Suite struct AcceptLanguageTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let environment: [String: String]
    let value: String?
    var testDescription: String { "\(environment)" }
  }

  @Test(arguments: [
    Case(environment: [:], value: nil),
    Case(environment: ["LANG": "C"], value: nil),
    Case(environment: ["LANG": "C.UTF-8"], value: nil),
    Case(environment: ["LANG": "POSIX", "LANGUAGE": "de"], value: nil),
    Case(environment: ["LANG": ""], value: nil),
    Case(environment: ["LANG": "de_CH.UTF-8"], value: "de-CH"),
    Case(environment: ["LANG": "de_AT@euro"], value: "de-AT"),
    Case(environment: ["LANG": "en_US", "LC_MESSAGES": "fr_FR"], value: "fr-FR"),
    Case(environment: ["LANG": "en_US", "LC_MESSAGES": "fr_FR", "LC_ALL": "it"], value: "it"),
    Case(environment: ["LANG": "en_US", "LC_ALL": ""], value: "en-US"),
    Case(environment: ["LANG": "en_US", "LANGUAGE": "de_CH:de"], value: "de-CH,de;q=0.9,en-US;q=0.8"),
    Case(environment: ["LANG": "en_US", "LANGUAGE": "en_US:C::fr"], value: "en-US,fr;q=0.9"),
    Case(environment: ["LANG": "nb_NO\r\nX: y"], value: nil),
    Case(
      environment: ["LANG": "en", "LANGUAGE": "aa:bb:cc:dd:ee:ff:gg"],
      value: "aa,bb;q=0.9,cc;q=0.8,dd;q=0.7,ee;q=0.6,ff;q=0.5"),
  ])
  func namesTheLanguagesOfTheLocale(_ test: Case) {
    #expect(AcceptLanguage.value(environment: test.environment) == test.value)
  }
}
