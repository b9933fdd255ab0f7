import HTTPSemantics

/// One thing that an FTP server is asked to do.
package struct FTPTransfer: Sendable {
  package enum Kind: Sendable, Equatable {
    case retrieve
    /// A folder as the server lists it for programs (MLSD), unchanged.
    case facts
    /// The data is not asked for, only what is known of it.
    case describe
    case store
    case append
  }

  package var resource: FTPResource
  package var kind: Kind
  /// Whether it is of interest when the file was changed.
  package var wantsDate: Bool
  /// How many bytes of a file to leave out; 0 for none.
  package var offset: Int64
  /// When the file must have been changed last for `offset` to count, in seconds since 1970; nil: at any time.
  package var condition: Int64?

  package init(
    _ resource: FTPResource, _ kind: Kind = .retrieve, wantsDate: Bool = false, offset: Int64 = 0,
    condition: Int64? = nil
  ) {
    self.resource = resource
    self.kind = kind
    self.wantsDate = wantsDate || condition != nil
    self.offset = offset
    self.condition = condition
  }
}

/// An FTP server's account of a file when it begins to send it.
package struct FTPAnswer: Sendable, Equatable {
  /// Of the whole file, in bytes; nil where the server does not tell.
  package var size: Int64?
  /// When it was changed last, in seconds since 1970; nil where the server does not tell, or was not asked.
  package var date: Int64?
  /// The offset of the first byte that is sent.
  package var offset: Int64 = 0
  /// Whether nothing is sent, since the file has no bytes behind the offset that was asked for.
  package var endsBeforeOffset = false
  /// The form of a folder's listing; nil where the data is to be passed on as it comes.
  package var listing: FTPListingReader.Form?

  package init(size: Int64? = nil) { self.size = size }
}
