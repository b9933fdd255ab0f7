import HTTPSemantics
import NIOHPACK

/// The field list of a HEADERS frame as a response's head or its trailers (RFC 9113 §8.2, §8.3.2).
package enum HTTP2ResponseFields {
  package static func head(_ list: HPACKHeaders) throws(HTTP2MessageError) -> HTTPResponseHead {
    var status: Int?
    var fields = HTTPFields()
    fields.fields.reserveCapacity(list.count)
    for (name, value, _) in list {
      if name.utf8.first == UInt8(ascii: ":") {
        guard fields.fields.isEmpty, name == ":status" else { throw .unexpectedPseudoField }
        guard status == nil, let number = Int(decimalStatus: value) else { throw .invalidStatus }
        status = number
      } else {
        try append(name, value, to: &fields)
      }
    }
    // RFC 9113 §8.6: there is no 101 in HTTP/2.
    guard let status, status != 101 else { throw .invalidStatus }
    return HTTPResponseHead(version: .http2, status: status, fields: fields)
  }

  package static func trailers(_ list: HPACKHeaders) throws(HTTP2MessageError) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value, _) in list {
      guard name.utf8.first != UInt8(ascii: ":") else { throw .unexpectedPseudoField }
      try append(name, value, to: &fields)
    }
    return fields
  }

  private static func append(
    _ name: String, _ value: String, to fields: inout HTTPFields
  ) throws(HTTP2MessageError) {
    guard fields.fields.count < ResponseLimits.standard.fields else { throw .tooManyFields }
    guard FieldValidation.isFieldName(name), !name.utf8.contains(where: { (0x41...0x5a).contains($0) }) else {
      throw .invalidFieldName
    }
    switch name {
    case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade": throw .connectionField(name)
    default: break
    }
    guard FieldValidation.isFieldValue(value) else {
      // RFC 6265bis §5.6 step 1: the cookie is ignored, not the response. RFC 9113 §8.2.1 forbids three characters.
      if name == "set-cookie", !value.utf8.contains(where: { [0x00, 0x0a, 0x0d].contains($0) }) { return }
      throw .invalidFieldValue
    }
    // RFC 9113 §8.2.1 forbids whitespace at either end; servers send it, and it means nothing.
    let needsTrimming = value.utf8.first?.isHTTPWhitespace == true || value.utf8.last?.isHTTPWhitespace == true
    fields.append(name, needsTrimming ? value.trimmingHTTPWhitespace() : value)
  }
}

extension Int {
  /// Three digits (RFC 9110 §15), the first of them 1 to 9.
  fileprivate init?(decimalStatus text: String) {
    let digits = text.utf8
    guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text), value >= 100
    else { return nil }
    self = value
  }
}
