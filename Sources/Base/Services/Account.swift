internal import Glibc

/// Returns a user's name for messages; the number if there is none.
package func accountName(of uid: UInt32) -> String {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    getpwuid_r(uid, &entry, &buffer, buffer.count, &found)
    guard found != nil, let name = entry.pw_name else { return String(uid) }
    return String(cString: name)
}

/// Returns the numbers of a user and its first group; nil if no such user exists.
package func account(named name: String) -> (user: UInt32, group: UInt32)? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    getpwnam_r(name, &entry, &buffer, buffer.count, &found)
    return found == nil ? nil : (entry.pw_uid, entry.pw_gid)
}
