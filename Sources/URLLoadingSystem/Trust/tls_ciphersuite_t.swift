/// A TLS cipher suite, with its number in IANA's registry.
public enum tls_ciphersuite_t: UInt16, Sendable {
  /// Keys encrypted with RSA, no forward secrecy; triple DES in CBC mode with SHA-1.
  case RSA_WITH_3DES_EDE_CBC_SHA = 0x000a
  /// Keys encrypted with RSA, no forward secrecy; AES-128 in CBC mode with SHA-1.
  case RSA_WITH_AES_128_CBC_SHA = 0x002f
  /// Keys encrypted with RSA, no forward secrecy; AES-256 in CBC mode with SHA-1.
  case RSA_WITH_AES_256_CBC_SHA = 0x0035
  /// Keys encrypted with RSA, no forward secrecy; AES-128 in GCM mode with SHA-256.
  case RSA_WITH_AES_128_GCM_SHA256 = 0x009c
  /// Keys encrypted with RSA, no forward secrecy; AES-256 in GCM mode with SHA-384.
  case RSA_WITH_AES_256_GCM_SHA384 = 0x009d
  /// Keys encrypted with RSA, no forward secrecy; AES-128 in CBC mode with SHA-256.
  case RSA_WITH_AES_128_CBC_SHA256 = 0x003c
  /// Keys encrypted with RSA, no forward secrecy; AES-256 in CBC mode with SHA-256.
  case RSA_WITH_AES_256_CBC_SHA256 = 0x003d
  /// Ephemeral elliptic-curve keys, an ECDSA certificate; triple DES in CBC mode with SHA-1.
  case ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA = 0xc008
  /// Ephemeral elliptic-curve keys, an ECDSA certificate; AES-128 in CBC mode with SHA-1.
  case ECDHE_ECDSA_WITH_AES_128_CBC_SHA = 0xc009
  /// Ephemeral elliptic-curve keys, an ECDSA certificate; AES-256 in CBC mode with SHA-1.
  case ECDHE_ECDSA_WITH_AES_256_CBC_SHA = 0xc00a
  /// Ephemeral elliptic-curve keys, an RSA certificate; triple DES in CBC mode with SHA-1.
  case ECDHE_RSA_WITH_3DES_EDE_CBC_SHA = 0xc012
  /// Ephemeral elliptic-curve keys, an RSA certificate; AES-128 in CBC mode with SHA-1.
  case ECDHE_RSA_WITH_AES_128_CBC_SHA = 0xc013
  /// Ephemeral elliptic-curve keys, an RSA certificate; AES-256 in CBC mode with SHA-1.
  case ECDHE_RSA_WITH_AES_256_CBC_SHA = 0xc014
  /// Ephemeral elliptic-curve keys, an ECDSA certificate; AES-128 in CBC mode with SHA-256.
  case ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 = 0xc023
  /// Ephemeral elliptic-curve keys, an ECDSA certificate; AES-256 in CBC mode with SHA-384.
  case ECDHE_ECDSA_WITH_AES_256_CBC_SHA384 = 0xc024
  /// Ephemeral elliptic-curve keys, an RSA certificate; AES-128 in CBC mode with SHA-256.
  case ECDHE_RSA_WITH_AES_128_CBC_SHA256 = 0xc027
  /// Ephemeral elliptic-curve keys, an RSA certificate; AES-256 in CBC mode with SHA-384.
  case ECDHE_RSA_WITH_AES_256_CBC_SHA384 = 0xc028
  /// Ephemeral elliptic-curve keys, an ECDSA certificate; AES-128 in GCM mode with SHA-256.
  case ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 = 0xc02b
  /// Ephemeral elliptic-curve keys, an ECDSA certificate; AES-256 in GCM mode with SHA-384.
  case ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 = 0xc02c
  /// Ephemeral elliptic-curve keys, an RSA certificate; AES-128 in GCM mode with SHA-256.
  case ECDHE_RSA_WITH_AES_128_GCM_SHA256 = 0xc02f
  /// Ephemeral elliptic-curve keys, an RSA certificate; AES-256 in GCM mode with SHA-384.
  case ECDHE_RSA_WITH_AES_256_GCM_SHA384 = 0xc030
  /// Ephemeral elliptic-curve keys, an RSA certificate; ChaCha20-Poly1305 with SHA-256.
  case ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 = 0xcca8
  /// Ephemeral elliptic-curve keys, an ECDSA certificate; ChaCha20-Poly1305 with SHA-256.
  case ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 = 0xcca9
  /// TLS 1.3; AES-128 in GCM mode with SHA-256.
  case AES_128_GCM_SHA256 = 0x1301
  /// TLS 1.3; AES-256 in GCM mode with SHA-384.
  case AES_256_GCM_SHA384 = 0x1302
  /// TLS 1.3; ChaCha20-Poly1305 with SHA-256.
  case CHACHA20_POLY1305_SHA256 = 0x1303
}
