// MARK: Protocols of servers

public let NSURLProtectionSpaceHTTP = "http"
public let NSURLProtectionSpaceHTTPS = "https"
public let NSURLProtectionSpaceFTP = "ftp"

// MARK: Types of proxies

public let NSURLProtectionSpaceHTTPProxy = "http"
public let NSURLProtectionSpaceHTTPSProxy = "https"
public let NSURLProtectionSpaceFTPProxy = "ftp"
public let NSURLProtectionSpaceSOCKSProxy = "SOCKS"

// MARK: Methods

/// The method that the protocol uses when nothing else was agreed; for HTTP, Basic.
public let NSURLAuthenticationMethodDefault = "NSURLAuthenticationMethodDefault"
/// RFC 7617.
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
/// RFC 7616.
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
/// A form on a web page: never asked for by a load.
public let NSURLAuthenticationMethodHTMLForm = "NSURLAuthenticationMethodHTMLForm"
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
/// RFC 4559: Kerberos or NTLM.
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
/// RFC 6750. Not part of Apple's API, where such a challenge is the response. The answer is a credential with an empty user
/// name and the token as its password; any other credential is not sent.
public let NSURLAuthenticationMethodBearer = "NSURLAuthenticationMethodBearer"
/// The server wants a certificate from the client.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
/// The server's certificates are to be judged.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
