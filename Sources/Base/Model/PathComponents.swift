/// What lies between a path's slashes, in order; empty components are left out.
///
/// By bytes, as file systems read a path: `String.split` goes by characters, and a slash with a
/// combining mark behind it is another character than a slash.
package func pathComponents(of path: some StringProtocol) -> [Substring] {
    Substring(path).utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
}

/// The folder of a final key, without the last slash; empty for a key without a folder.
package func directory(of key: String) -> String {
    guard let slash = key.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(key[..<slash])
}
