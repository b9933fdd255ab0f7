import HTTPSemantics
import TransferProtocol

extension HTTPFields {
  package init(_ fields: [HeaderField]) { self.init(fields.map { Field(name: $0.name, value: $0.value) }) }
}

extension [HeaderField] {
  package init(_ fields: HTTPFields) { self = fields.fields.map { HeaderField($0.name, $0.value) } }
}
