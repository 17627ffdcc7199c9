internal import Glibc

/// The name of a user for messages; the number where there is none.
package func accountName(of uid: UInt32) -> String {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    getpwuid_r(uid, &entry, &buffer, buffer.count, &found)
    guard found != nil, let name = entry.pw_name else { return String(uid) }
    return String(cString: name)
}

/// The number of a user; nil where there is none of that name.
package func accountNumber(of name: String) -> UInt32? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    getpwnam_r(name, &entry, &buffer, buffer.count, &found)
    return found == nil ? nil : entry.pw_uid
}
