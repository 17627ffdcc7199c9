/// Escapes control characters of `text` as `\u{…}`, so that it is safe to print.
///
/// No control sequence for a terminal or a line reader remains, so no origin's text can forge a
/// line.
package func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControlCharacter) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
        if isControlCharacter(scalar) {
            result += scalar.escaped(asASCII: true)
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result
}

/// Returns true for C0, DEL, C1, the line and paragraph separators, the marks that change the
/// reading direction, and the byte order mark.
package func isControlCharacter(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF:
        true
    default: false
    }
}

/// Writes `number` with leading zeros up to `width` digits.
package func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
