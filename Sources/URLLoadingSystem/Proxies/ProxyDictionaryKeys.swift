// The names that CFNetwork gives proxy settings. Values are the ones Apple's dictionaries use, so that a dictionary
// written with plain strings works too.

// MARK: Keys of URLSessionConfiguration.connectionProxyDictionary

/// Whether the proxy for http is used: a number, 0 for no.
public let kCFNetworkProxiesHTTPEnable = "HTTPEnable"
/// The host of the proxy for http, a string.
public let kCFNetworkProxiesHTTPProxy = "HTTPProxy"
/// The port of the proxy for http, a number.
public let kCFNetworkProxiesHTTPPort = "HTTPPort"
/// Whether the proxy for https is used: a number, 0 for no.
public let kCFNetworkProxiesHTTPSEnable = "HTTPSEnable"
/// The host of the proxy for https, a string.
public let kCFNetworkProxiesHTTPSProxy = "HTTPSProxy"
/// The port of the proxy for https, a number.
public let kCFNetworkProxiesHTTPSPort = "HTTPSPort"
/// Whether the proxy for ftp is used: a number, 0 for no.
public let kCFNetworkProxiesFTPEnable = "FTPEnable"
/// The host of the proxy for ftp, a string.
public let kCFNetworkProxiesFTPProxy = "FTPProxy"
/// The port of the proxy for ftp, a number.
public let kCFNetworkProxiesFTPPort = "FTPPort"
/// Whether the server of ftp opens the port for data (RFC 959 PASV): a number. Default 1.
public let kCFNetworkProxiesFTPPassive = "FTPPassive"
/// Whether the SOCKS proxy is used: a number, 0 for no.
public let kCFNetworkProxiesSOCKSEnable = "SOCKSEnable"
/// The host of the SOCKS proxy, a string.
public let kCFNetworkProxiesSOCKSProxy = "SOCKSProxy"
/// The port of the SOCKS proxy, a number.
public let kCFNetworkProxiesSOCKSPort = "SOCKSPort"
/// For RTSP, which is not spoken here: without effect.
public let kCFNetworkProxiesRTSPEnable = "RTSPEnable"
/// For RTSP, which is not spoken here: without effect.
public let kCFNetworkProxiesRTSPProxy = "RTSPProxy"
/// For RTSP, which is not spoken here: without effect.
public let kCFNetworkProxiesRTSPPort = "RTSPPort"
/// For Gopher, which is not spoken here: without effect.
public let kCFNetworkProxiesGopherEnable = "GopherEnable"
/// For Gopher, which is not spoken here: without effect.
public let kCFNetworkProxiesGopherProxy = "GopherProxy"
/// For Gopher, which is not spoken here: without effect.
public let kCFNetworkProxiesGopherPort = "GopherPort"
/// Hosts that are reached without a proxy: a list of names, addresses and patterns with `*`.
public let kCFNetworkProxiesExceptionsList = "ExceptionsList"
/// Whether hosts without a dot are reached without a proxy: a number, 0 for no.
public let kCFNetworkProxiesExcludeSimpleHostnames = "ExcludeSimpleHostnames"

// MARK: Keys for automatic configuration

/// Whether a script chooses the proxy: a number, 0 for no.
public let kCFNetworkProxiesProxyAutoConfigEnable = "ProxyAutoConfigEnable"
/// The URL of the script, a string.
public let kCFNetworkProxiesProxyAutoConfigURLString = "ProxyAutoConfigURLString"
/// The script itself, a string. Counts before its URL.
public let kCFNetworkProxiesProxyAutoConfigJavaScript = "ProxyAutoConfigJavaScript"
/// Whether the network is asked for the script (WPAD): a number, 0 for no.
public let kCFNetworkProxiesProxyAutoDiscoveryEnable = "ProxyAutoDiscoveryEnable"

// MARK: Keys of one resolved proxy

/// The kind of the proxy: one of the `kCFProxyType…` constants.
public let kCFProxyTypeKey = "kCFProxyTypeKey"
/// The host of the proxy, a string.
public let kCFProxyHostNameKey = "kCFProxyHostNameKey"
/// The port of the proxy, a number.
public let kCFProxyPortNumberKey = "kCFProxyPortNumberKey"
/// The user name that the proxy is shown, a string.
public let kCFProxyUsernameKey = "kCFProxyUsernameKey"
/// The password that the proxy is shown, a string.
public let kCFProxyPasswordKey = "kCFProxyPasswordKey"
/// The `URL` of the script that chooses the proxy.
public let kCFProxyAutoConfigurationURLKey = "kCFProxyAutoConfigurationURLKey"
/// The script that chooses the proxy, a string.
public let kCFProxyAutoConfigurationJavaScriptKey = "kCFProxyAutoConfigurationJavaScriptKey"
/// The response with which the script came. Never set here.
public let kCFProxyAutoConfigurationHTTPResponseKey = "kCFProxyAutoConfigurationHTTPResponseKey"

// MARK: Values of kCFProxyTypeKey

/// No proxy: a direct connection.
public let kCFProxyTypeNone = "kCFProxyTypeNone"
/// A proxy for http and https.
public let kCFProxyTypeHTTP = "kCFProxyTypeHTTP"
/// A proxy for http and https, as `kCFProxyTypeHTTP`.
public let kCFProxyTypeHTTPS = "kCFProxyTypeHTTPS"
/// A SOCKS proxy.
public let kCFProxyTypeSOCKS = "kCFProxyTypeSOCKS"
/// A proxy for ftp.
public let kCFProxyTypeFTP = "kCFProxyTypeFTP"
/// A script that has a URL chooses the proxy.
public let kCFProxyTypeAutoConfigurationURL = "kCFProxyTypeAutoConfigurationURL"
/// A script that is given as text chooses the proxy.
public let kCFProxyTypeAutoConfigurationJavaScript = "kCFProxyTypeAutoConfigurationJavaScript"
