/// Whether the server asked for a certificate of the client, and what it got.
package enum ClientCertificateUse: Sendable { case notWanted, withheld, sent }
