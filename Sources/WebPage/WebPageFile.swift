/// The files that the page is made of, which are in the program itself.
package struct WebPageFile: Sendable {
  package let path: String
  package let type: String
  package let bytes: [UInt8]

  package static let all = [
    WebPageFile(path: "/", type: "text/html; charset=utf-8", bytes: PackageResources.page_html),
    WebPageFile(path: "/page.css", type: "text/css; charset=utf-8", bytes: PackageResources.page_css),
    WebPageFile(path: "/page.js", type: "text/javascript; charset=utf-8", bytes: PackageResources.page_js),
  ]
}
