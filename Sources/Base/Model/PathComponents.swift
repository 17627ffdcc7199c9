/// Returns the components of a path, in order; empty ones are omitted.
///
/// It splits bytes, as file systems do. `String.split` works on characters, and a slash with a
/// combining mark is not the character slash.
package func pathComponents(of path: some StringProtocol) -> [Substring] {
    Substring(path).utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
}

/// Returns the folder of a final key without its last slash; empty for a key without a folder.
package func directory(of key: String) -> String {
    guard let slash = key.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(key[..<slash])
}
