extension FailureCode {
    /// Describes what Dray does automatically after a failure with this code: retries, mirrors if the file has
    /// some, other renditions if its title may lack those that list it, and a fresh URL from the
    /// manifest if a segment's is signed.
    package var remedy: String {
        var parts: [String] = []
        switch row.retry {
        case .never: break
        case .attempts(let count): parts.append("up to \(count) attempts")
        case .siteFault: parts.append("until the site works; does not count as an attempt")
        case .waitsForSpace:
            parts.append("every minute until there is space; does not count as an attempt")
        }
        if mayBeOriginsAlone, self != .originSignatureExpired {
            parts += ["mirrors", "other renditions with --may-lack"]
        }
        if mayBeExpiredSignature { parts.append("fresh URL if signed") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }
}
