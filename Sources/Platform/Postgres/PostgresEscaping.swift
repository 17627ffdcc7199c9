/// Quoting where parameters are not allowed: names, and literals in DDL.
package enum PostgresEscaping {
    /// Returns `name` as a quoted identifier.
    package static func identifier(_ name: String) throws(PostgresError) -> String {
        try refuseNUL(name)
        return "\"\(doubled("\"", in: name))\""
    }

    /// Returns `text` as a string literal, valid for any `standard_conforming_strings`.
    package static func literal(_ text: String) throws(PostgresError) -> String {
        try refuseNUL(text)
        let quoted = doubled("'", in: text)
        return text.contains("\\") ? " E'\(doubled("\\", in: quoted))'" : "'\(quoted)'"
    }

    private static func doubled(_ mark: Unicode.Scalar, in text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == mark { scalars.append(mark) }
            scalars.append(scalar)
        }
        return String(scalars)
    }

    private static func refuseNUL(_ text: String) throws(PostgresError) {
        if text.utf8.contains(0) {
            throw PostgresError(.usage, "text with a NUL byte cannot be quoted")
        }
    }
}
