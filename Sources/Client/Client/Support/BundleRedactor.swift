import Model

/// Removes secrets from texts of a support bundle: what `Redaction` hides in URLs, the secrets that
/// this process knows, and what follows the names of secrets. Rather too much than too little.
struct BundleRedactor {
    /// Known secrets, the longest first: one may contain another.
    private let secrets: [String]

    /// Shorter ones would hide parts of ordinary words.
    private static let minSecretCharacters = 4
    private static let names = [
        "access-key", "access_key", "accesskey", "api-key", "api_key", "apikey", "authorization",
        "cookie", "credential", "passfile", "password", "passwd",
        "proxy-authorization", "secret", "signature", "token",
    ]
    private static let schemes = ["bearer", "basic", "digest", "negotiate"]

    /// - Parameter secrets: the token, passwords and the like.
    init(secrets: [String]) {
        self.secrets = Set(secrets).filter { $0.count >= Self.minSecretCharacters }
            .sorted { ($0.count, $0) > ($1.count, $1) }
    }

    /// Returns `text` without secrets, line by line.
    func redacted(_ text: String) -> String {
        var out = text
        for secret in secrets { out = out.replacing(secret, with: Redaction.mark) }
        return out.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line(String($0)) }.joined(separator: "\n")
    }

    /// Returns true if the value of a field with this name may be a secret.
    func isSecret(field name: String) -> Bool {
        let name = name.lowercased()
        return Self.names.contains { name.contains($0) }
    }

    private func line(_ text: String) -> String {
        let words = Redaction.message(text)
            .split(omittingEmptySubsequences: false) { $0 == " " || $0 == "\t" }
        var out: [String] = []
        var hidesNext = false
        for word in words {
            if hidesNext, !word.isEmpty {
                hidesNext = Self.schemes.contains(word.lowercased())
                out.append(hidesNext ? String(word) : Redaction.mark)
                continue
            }
            let shown = assignment(withoutQuery(word))
            let bare = word.lowercased().filter { $0.isLetter || $0 == "-" || $0 == ":" }
            // `Bearer TOKEN`.
            hidesNext = Self.schemes.contains { bare.hasSuffix($0) }
            out.append(shown)
            // `Authorization: …`, `Cookie: a=1; b=2`: a value has any number of words.
            if word.hasSuffix(":"), isSecret(field: bare) {
                out.append(Redaction.mark)
                break
            }
        }
        return out.joined(separator: " ")
    }

    /// Hides what follows a `?` within a word: a key, or a URL without a scheme.
    private func withoutQuery(_ word: Substring) -> String {
        guard let mark = word.utf8.firstIndex(of: UInt8(ascii: "?")),
            word.utf8.index(after: mark) < word.utf8.endIndex
        else { return String(word) }
        return String(word[...mark]) + Redaction.mark
    }

    /// Hides the value of `password=VALUE` and `"password":"VALUE"`, in any case and within longer
    /// names.
    private func assignment(_ word: String) -> String {
        for separator in ["=", "\":"] {
            guard let found = word.firstRange(of: separator), found.upperBound < word.endIndex,
                isSecret(field: String(word[..<found.lowerBound]))
            else { continue }
            return String(word[..<found.upperBound]) + Redaction.mark
        }
        return word
    }
}
