/// Separates the parameters of a query that carry a signature or a token from those that name the
/// requested object.
///
/// Secrets never occur in a storage key, a file's name or a checksum file. Their readers must not
/// learn the credentials, and a new signature must not store the same object again. Names are
/// compared decoded and case-insensitively. `&`, `;` and `&amp;` separate parameters. An operator's
/// names for an origin (`KeyQueryRules`) take precedence.
package enum SignedQuery {
    /// Returns true if a parameter of this name, in any combination, may be a secret or is omitted
    /// from keys.
    package static func isSecret(
        _ name: ArraySlice<UInt8>, _ names: KeyQueryRules.Names = KeyQueryRules.Names()
    ) -> Bool {
        if !names.isEmpty {
            let plain = SignedNames.lowercased(name)
            if names.keep.contains(plain) { return false }
            if names.leaveOut.contains(plain) { return true }
        }
        return switch SignedNames.meaning(of: name) {
        case .proof, .companion, .time, .token: true
        case .content: SignedNames.lowercased(name) == "md5"
        case nil: false
        }
    }

    /// Returns a query, without its `?`, as it occurs in keys; nil if unchanged.
    package static func withoutSecrets(
        _ query: ArraySlice<UInt8>, _ names: KeyQueryRules.Names = KeyQueryRules.Names()
    ) -> [UInt8]? {
        Parameters(query, names).filtered { parameters, meaning in
            switch meaning {
            case .proof, .token, .azure: true
            case .companion, .time: parameters.isSigned
            case .content: false
            }
        }
    }

    /// Returns true if a URL has a signature or a token, which may expire.
    package static func isSigned(url: [UInt8]) -> Bool {
        let end = url.firstIndex(of: UInt8(ascii: "?")) ?? url.count
        return SignedPath.replacingTokens(url[..<end], with: SignedPath.mark) != nil
            || withoutSecrets(url[end...].dropFirst()) != nil
    }

    /// Returns true if two URLs name one object: they differ only in signatures and in parameters
    /// that `rules` omit.
    package static func isSameObject(
        _ left: [UInt8], _ right: [UInt8], _ rules: KeyQueryRules = KeyQueryRules()
    ) -> Bool {
        left == right || unsigned(left, rules) == unsigned(right, rules)
    }

    /// Returns a URL for comparison, without its signatures and without parameters that `rules`
    /// omit.
    ///
    /// The part before the path keeps its length. A token stays, because it may select the
    /// response.
    package static func unsigned(
        _ url: [UInt8], _ rules: KeyQueryRules = KeyQueryRules()
    ) -> [UInt8] {
        let end = url.firstIndex(of: UInt8(ascii: "?")) ?? url.count
        let path =
            SignedPath.replacingTokens(url[..<end], with: SignedPath.comparedMark, onlyProofs: true)
            ?? Array(url[..<end])
        let query = url[end...].dropFirst()
        let kept =
            Parameters(query, rules.names(of: url)).filtered { parameters, meaning in
                switch meaning {
                case .proof, .azure: true
                case .companion, .time: parameters.isProved
                case .token, .content: false
                }
            } ?? Array(query)
        return path + (kept.isEmpty ? [] : [UInt8(ascii: "?")] + kept)
    }
}

/// The parameters of one query, each with its preceding separator.
private struct Parameters {
    enum Meaning {
        case proof, companion, time, token, content, azure
    }

    private struct Parameter {
        /// Start, including the separator.
        var start: Int
        /// Text after the separator.
        var text: ArraySlice<UInt8>
        var meaning: Meaning?
        /// The operator's rule.
        var isKept = false
        var isLeftOut = false

        var name: ArraySlice<UInt8> { text.prefix { $0 != UInt8(ascii: "=") } }
    }

    private let query: ArraySlice<UInt8>
    private var all: [Parameter] = []
    /// True if it contains a signature.
    private(set) var isProved = false
    /// True if it contains a signature or a token.
    private(set) var isSigned = false

    private static let separators = [UInt8(ascii: "&"), UInt8(ascii: ";")]

    init(_ query: ArraySlice<UInt8>, _ names: KeyQueryRules.Names) {
        self.query = query
        guard !query.isEmpty else { return }
        var index = query.startIndex
        repeat {
            let start = index
            if index < query.endIndex, Self.separators.contains(query[index]) { index += 1 }
            if Self.isEscape(query[index...]) { index += 4 }
            let end = query[index...].firstIndex { Self.separators.contains($0) } ?? query.endIndex
            // The first one may be empty: a separator after it belongs to the next.
            var parameter = Parameter(
                start: start, text: query[index..<end], meaning: Self.meaning(query[index..<end]))
            if !names.isEmpty { Self.apply(names, to: &parameter) }
            all.append(parameter)
            index = end
        } while index < query.endIndex
        judge()
    }

    /// Applies an operator's names. An omitted parameter keeps its apparent meaning for the others;
    /// a kept one has none.
    private static func apply(_ names: KeyQueryRules.Names, to parameter: inout Parameter) {
        let name = SignedNames.lowercased(parameter.name)
        parameter.isLeftOut = names.leaveOut.contains(name)
        guard names.keep.contains(name), !SignedPath.isFields(parameter.text) else { return }
        parameter.isKept = true
        parameter.meaning = nil
    }

    /// Returns true at the rest of `&amp;` after its first character.
    private static func isEscape(_ rest: ArraySlice<UInt8>) -> Bool {
        rest.count >= 4 && SignedNames.lowercased(rest.prefix(4)) == "amp;"
    }

    private static func meaning(_ parameter: ArraySlice<UInt8>) -> Meaning? {
        if SignedPath.isFields(parameter) { return .proof }
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }
        let value = parameter[name.endIndex...].dropFirst()
        return switch SignedNames.meaning(of: name, value: value) {
        case .proof: .proof
        case .companion: .companion
        case .time: .time
        case .token: .token
        case .content: .content
        case nil: nil
        }
    }

    /// Determines the meaning of parameters in combination.
    private mutating func judge() {
        let found = all.compactMap(\.meaning)
        guard !found.isEmpty else { return }
        let hasProof = found.contains(.proof)
        isProved = hasProof
        let isHashWithEnd = found.contains(.time) && found.contains(.content)
        guard hasProof || isHashWithEnd else {
            isSigned = found.contains(.token)
            return
        }
        let names = all.map { $0.isKept ? "" : SignedNames.lowercased($0.name) }
        // A hash with an expiry may be a signature or select the response, unless the expiry is a
        // signature's.
        if isHashWithEnd, !hasProof {
            let isVague = !all.indices.contains { all[$0].meaning == .time && names[$0] != "t" }
            for index in all.indices where all[index].meaning == .content {
                if isVague, SignedNames.vagueContent.contains(names[index]) { continue }
                all[index].meaning = .token
            }
        }
        isSigned = hasProof || all.contains { $0.meaning == .token }
        guard hasProof else { return }
        guard names.contains("sig"), names.contains("sv") else { return }
        for (index, name) in names.enumerated() where SignedNames.azure.contains(name) {
            all[index].meaning = .azure
        }
    }

    /// Returns the query without the parameters that `isLeftOut` selects; nil if all stay.
    func filtered(_ isLeftOut: (Parameters, Meaning) -> Bool) -> [UInt8]? {
        guard all.contains(where: { $0.meaning != nil || $0.isLeftOut }) else { return nil }
        var out: [UInt8] = []
        var isWhole = true
        var isFirst = true
        for parameter in all {
            if parameter.isLeftOut || parameter.meaning.map({ isLeftOut(self, $0) }) == true {
                isWhole = false
                continue
            }
            let start = isFirst ? parameter.text.startIndex : parameter.start
            out += query[start..<parameter.text.endIndex]
            isFirst = false
        }
        return isWhole ? nil : out
    }
}
