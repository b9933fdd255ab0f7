// The names that CFNetwork gives proxy settings. Values are the ones Apple's dictionaries use, so that a dictionary
// written with plain strings works too.

// MARK: Keys of URLSessionConfiguration.connectionProxyDictionary

public let kCFNetworkProxiesHTTPEnable = "HTTPEnable"
public let kCFNetworkProxiesHTTPProxy = "HTTPProxy"
public let kCFNetworkProxiesHTTPPort = "HTTPPort"
public let kCFNetworkProxiesHTTPSEnable = "HTTPSEnable"
public let kCFNetworkProxiesHTTPSProxy = "HTTPSProxy"
public let kCFNetworkProxiesHTTPSPort = "HTTPSPort"
public let kCFNetworkProxiesFTPEnable = "FTPEnable"
public let kCFNetworkProxiesFTPProxy = "FTPProxy"
public let kCFNetworkProxiesFTPPort = "FTPPort"
public let kCFNetworkProxiesFTPPassive = "FTPPassive"
public let kCFNetworkProxiesSOCKSEnable = "SOCKSEnable"
public let kCFNetworkProxiesSOCKSProxy = "SOCKSProxy"
public let kCFNetworkProxiesSOCKSPort = "SOCKSPort"
public let kCFNetworkProxiesRTSPEnable = "RTSPEnable"
public let kCFNetworkProxiesRTSPProxy = "RTSPProxy"
public let kCFNetworkProxiesRTSPPort = "RTSPPort"
public let kCFNetworkProxiesGopherEnable = "GopherEnable"
public let kCFNetworkProxiesGopherProxy = "GopherProxy"
public let kCFNetworkProxiesGopherPort = "GopherPort"
public let kCFNetworkProxiesExceptionsList = "ExceptionsList"
public let kCFNetworkProxiesExcludeSimpleHostnames = "ExcludeSimpleHostnames"

// MARK: Keys for automatic configuration

public let kCFNetworkProxiesProxyAutoConfigEnable = "ProxyAutoConfigEnable"
public let kCFNetworkProxiesProxyAutoConfigURLString = "ProxyAutoConfigURLString"
public let kCFNetworkProxiesProxyAutoConfigJavaScript = "ProxyAutoConfigJavaScript"
public let kCFNetworkProxiesProxyAutoDiscoveryEnable = "ProxyAutoDiscoveryEnable"

// MARK: Keys of one resolved proxy

public let kCFProxyTypeKey = "kCFProxyTypeKey"
public let kCFProxyHostNameKey = "kCFProxyHostNameKey"
public let kCFProxyPortNumberKey = "kCFProxyPortNumberKey"
public let kCFProxyUsernameKey = "kCFProxyUsernameKey"
public let kCFProxyPasswordKey = "kCFProxyPasswordKey"
public let kCFProxyAutoConfigurationURLKey = "kCFProxyAutoConfigurationURLKey"
public let kCFProxyAutoConfigurationJavaScriptKey = "kCFProxyAutoConfigurationJavaScriptKey"
public let kCFProxyAutoConfigurationHTTPResponseKey = "kCFProxyAutoConfigurationHTTPResponseKey"

// MARK: Values of kCFProxyTypeKey

public let kCFProxyTypeNone = "kCFProxyTypeNone"
public let kCFProxyTypeHTTP = "kCFProxyTypeHTTP"
public let kCFProxyTypeHTTPS = "kCFProxyTypeHTTPS"
public let kCFProxyTypeSOCKS = "kCFProxyTypeSOCKS"
public let kCFProxyTypeFTP = "kCFProxyTypeFTP"
public let kCFProxyTypeAutoConfigurationURL = "kCFProxyTypeAutoConfigurationURL"
public let kCFProxyTypeAutoConfigurationJavaScript = "kCFProxyTypeAutoConfigurationJavaScript"
