// MARK: Protocols of servers

/// The protocol of a space of an http server.
public let NSURLProtectionSpaceHTTP = "http"
/// The protocol of a space of an https server.
public let NSURLProtectionSpaceHTTPS = "https"
/// The protocol of a space of an ftp server.
public let NSURLProtectionSpaceFTP = "ftp"

// MARK: Types of proxies

/// The type of a proxy for http.
public let NSURLProtectionSpaceHTTPProxy = "http"
/// The type of a proxy for https.
public let NSURLProtectionSpaceHTTPSProxy = "https"
/// The type of a proxy for ftp.
public let NSURLProtectionSpaceFTPProxy = "ftp"
/// The type of a SOCKS proxy.
public let NSURLProtectionSpaceSOCKSProxy = "SOCKS"

// MARK: Methods

/// The method that the protocol uses when nothing else was agreed; for HTTP, Basic.
public let NSURLAuthenticationMethodDefault = "NSURLAuthenticationMethodDefault"
/// Basic (RFC 7617): user name and password are sent as they are, so that only TLS protects them.
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
/// Digest (RFC 7616): a digest over the password is sent, with MD5, SHA-256 or SHA-512-256.
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
/// A form on a web page: never asked for by a load.
public let NSURLAuthenticationMethodHTMLForm = "NSURLAuthenticationMethodHTMLForm"
/// NTLM over HTTP, as [MS-NTHT] describes it.
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
/// Negotiate (RFC 4559): Kerberos, with the ticket of the user or with a password, or NTLM.
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
/// RFC 6750. Not part of Apple's API, where such a challenge is the response. The answer is a credential with an empty user
/// name and the token as its password; any other credential is not sent.
public let NSURLAuthenticationMethodBearer = "NSURLAuthenticationMethodBearer"
/// The server wants a certificate from the client.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
/// The server's certificates are to be judged.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
