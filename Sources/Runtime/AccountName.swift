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
