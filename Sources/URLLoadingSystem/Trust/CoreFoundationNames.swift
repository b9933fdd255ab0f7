import Foundation

// The functions about certificates and trust are C functions of Core Foundation types on Apple's systems. Their Linux
// forms take and return the Swift types that those are bridged to, under the same names, so that code with
// `as CFData`, `as CFArray` or `CFError?` compiles unchanged.

/// Any value: Core Foundation's name for an object of whatever type.
public typealias CFTypeRef = Any
/// The parameter of functions that on Apple's systems may allocate in a way of their own. Unused; pass nil.
public typealias CFAllocator = AnyObject
/// Core Foundation's name for bytes.
public typealias CFData = Data
/// Core Foundation's name for text.
public typealias CFString = String
/// Core Foundation's name for a list.
public typealias CFArray = [Any]
/// Core Foundation's name for a dictionary.
public typealias CFDictionary = [AnyHashable: Any]
/// Core Foundation's name for a moment.
public typealias CFDate = Date
/// Core Foundation's name for an error.
public typealias CFError = NSError
/// Seconds since the first moment of 2001, in UTC.
public typealias CFAbsoluteTime = TimeInterval
/// Core Foundation's name for a count or a position.
public typealias CFIndex = Int
/// The Boolean of C functions.
public typealias DarwinBoolean = Bool

/// The code of a result: `errSecSuccess`, or one of the other `errSec…` constants.
public typealias OSStatus = Int32
