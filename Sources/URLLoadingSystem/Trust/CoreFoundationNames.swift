import Foundation

// The functions about certificates and trust are C functions of Core Foundation types on Apple's systems. Their Linux
// forms take and return the Swift types that those are bridged to, under the same names, so that code with
// `as CFData`, `as CFArray` or `CFError?` compiles unchanged.

public typealias CFTypeRef = Any
public typealias CFAllocator = AnyObject
public typealias CFData = Data
public typealias CFString = String
public typealias CFArray = [Any]
public typealias CFDictionary = [AnyHashable: Any]
public typealias CFDate = Date
public typealias CFError = NSError
public typealias CFAbsoluteTime = TimeInterval
public typealias CFIndex = Int
public typealias DarwinBoolean = Bool

/// The code of a result: `errSecSuccess`, or one of the other `errSec…` constants.
public typealias OSStatus = Int32
