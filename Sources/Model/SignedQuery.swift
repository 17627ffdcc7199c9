/// Tells the parameters of a query that carry a signature or a token from those that name what is asked for.
///
/// Neither stands in a storage key, a file's name or a list of checksums: who reads these must not learn what
/// opens the origin, and the same object must not lie there again with each new signature.
package enum SignedQuery {
    /// A signature over the path or a time, which never chooses what is answered: of AWS Signature 4 and CloudFront,
    /// Google and Azure, Akamai, and what is common elsewhere. In lower case.
    static let signatures = [
        "awsaccesskeyid", "exp", "expire", "expires", "expiry", "googleaccessid", "hdnea", "hdntl",
        "hdnts", "hmac",
        "key-pair-id", "policy", "sig", "signature",
    ]
    static let signaturePrefixes = ["x-amz-", "x-goog-"]

    /// A secret that may choose what is answered as well: two URLs that differ in one are not taken for one object
    /// unless they are of different catalogs.
    static let tokens = [
        "access_token", "accesstoken", "apikey", "api_key", "auth", "auth_key", "auth_token",
        "authkey", "authtoken",
        "jwt", "md5", "password", "secret", "token",
    ]

    /// Whether the parameter of this name is left out of keys.
    package static func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
        isSignature(name) || tokenNames.contains { isEqual($0, name) }
    }

    private static func isSignature(_ name: ArraySlice<UInt8>) -> Bool {
        signatureNames.contains { isEqual($0, name) }
            || prefixNames.contains { $0.count < name.count && isEqual($0, name.prefix($0.count)) }
    }

    private static let signatureNames = signatures.map { Array($0.utf8) }
    private static let prefixNames = signaturePrefixes.map { Array($0.utf8) }
    private static let tokenNames = tokens.map { Array($0.utf8) }

    /// Ignoring the case of ASCII letters in `name`.
    private static func isEqual(_ lower: [UInt8], _ name: ArraySlice<UInt8>) -> Bool {
        lower.count == name.count
            && zip(lower, name).allSatisfy { want, byte in
                want == ((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
            }
    }

    /// A query, without its `?`, as it stands in keys; nil where that is the query itself.
    package static func withoutSecrets(_ query: ArraySlice<UInt8>) -> [UInt8]? {
        filtered(query) { !isSecret($0) }
    }

    private static let akamaiName = Array("hmac".utf8)[...]
    private static let akamaiField = Array("~hmac=".utf8)

    private static func isAkamai(_ parameter: ArraySlice<UInt8>) -> Bool {
        var rest = parameter
        while let tilde = rest.firstIndex(of: akamaiField[0]) {
            if rest[tilde...].starts(with: akamaiField) { return true }
            rest = rest[(tilde + 1)...]
        }
        return false
    }

    private static func filtered(
        _ query: ArraySlice<UInt8>, _ isKept: (ArraySlice<UInt8>) -> Bool
    ) -> [UInt8]? {
        let ampersand = UInt8(ascii: "&")
        var out: [UInt8] = []
        var isWhole = true
        var isFirst = true
        for parameter in query.split(separator: ampersand, omittingEmptySubsequences: false) {
            // Akamai's fields, in whatever order, are one parameter: `st=1~exp=2~acl=/*~hmac=…`.
            let isFields = isAkamai(parameter)
            guard isKept(isFields ? akamaiName : parameter.prefix { $0 != UInt8(ascii: "=") })
            else {
                isWhole = false
                continue
            }
            if !isFirst { out.append(ampersand) }
            out += parameter
            isFirst = false
        }
        return isWhole ? nil : out
    }

    /// Those that show that there is a signature: beside one, a time chooses nothing.
    static let proofs = [
        "hdnea", "hdntl", "hdnts", "hmac", "sig", "signature", "x-amz-signature",
        "x-goog-signature",
    ]
    private static let proofNames = proofs.map { Array($0.utf8) }

    /// Whether two URLs name one object: they differ in nothing but signatures.
    package static func isSameObject(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left == right || unsigned(left) == unsigned(right)
    }

    private static func unsigned(_ url: [UInt8]) -> [UInt8] {
        guard let question = url.firstIndex(of: UInt8(ascii: "?")) else { return url }
        var isSigned = false
        let kept = filtered(url[(question + 1)...]) { name in
            isSigned = isSigned || proofNames.contains { isEqual($0, name) }
            return !isSignature(name)
        }
        guard isSigned, let query = kept else { return url }
        return url[..<question] + (query.isEmpty ? [] : [UInt8(ascii: "?")] + query)
    }

    // MARK: The same as regular expressions of PostgreSQL, ignoring case

    /// A query with one of the parameters that show a signature.
    package static var proofPattern: String {
        "[?&](?:\(proofs.joined(separator: "|")))(?:[=&]|$)|[?&][^&]*~hmac="
    }

    /// Each parameter with a signature, with the `&` before it.
    package static var signaturePattern: String { pattern(signatures) }

    /// Each parameter that is left out of keys, with the `&` before it.
    package static var secretPattern: String { pattern(signatures + tokens) }

    private static func pattern(_ names: [String]) -> String {
        let all = names + signaturePrefixes.map { $0 + "[^=&]+" }
        return "&(?:(?:\(all.joined(separator: "|")))(?:=[^&]*)?|[^&]*~hmac=[^&]*)(?=&|$)"
    }
}
