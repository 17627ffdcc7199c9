/// Separates the parameters of a query that carry a signature or a token from those that name what is requested.
///
/// Neither stands in a storage key, a file's name or a list of checksums: who reads these must not learn what
/// opens the origin, and the same object must not lie there again with each new signature. Names are compared
/// decoded and without case. `&`, `;` and `&amp;` separate parameters. Where an operator has named parameters of an
/// origin (`KeyQueryRules`), that counts in place of what their names look like.
package enum SignedQuery {
    /// Whether the parameter of this name, whatever stands beside it, may be a secret, or is left out of keys.
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

    /// A query, without its `?`, as it stands in keys; nil where that is the query itself.
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

    /// Whether a URL carries a signature or a token, which may expire.
    package static func isSigned(url: [UInt8]) -> Bool {
        let end = url.firstIndex(of: UInt8(ascii: "?")) ?? url.count
        return SignedPath.replacingTokens(url[..<end], with: SignedPath.mark) != nil
            || withoutSecrets(url[end...].dropFirst()) != nil
    }

    /// `text`, a key, without what in it may be a secret: a query, and tokens in its path.
    package static func redacted(key text: String) -> String {
        let bytes = Array(text.utf8)
        let end = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
        let path = SignedPath.replacingTokens(bytes[..<end], with: Array(Redaction.mark.utf8))
        let query = bytes[end...].dropFirst()
        guard path != nil || withoutSecrets(query) != nil else { return text }
        let shown =
            withoutSecrets(query).map { kept in
                kept + (kept.isEmpty ? [] : [0x26]) + Array(Redaction.mark.utf8)
            } ?? Array(query)
        return String(
            decoding: (path ?? Array(bytes[..<end])) + (end < bytes.count ? [0x3F] + shown : []),
            as: UTF8.self)
    }

    /// Whether two URLs name one object: they differ in nothing but signatures and what is left out by `rules`.
    package static func isSameObject(
        _ left: [UInt8], _ right: [UInt8], _ rules: KeyQueryRules = KeyQueryRules()
    ) -> Bool {
        left == right || unsigned(left, rules) == unsigned(right, rules)
    }

    /// A URL without its signatures and what is left out by `rules`, for comparing: it names an object, and is none.
    ///
    /// What stands before the path is as long as before. A token stays, because it may choose what is answered.
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

/// The parameters of one query, each with what separates it from the one before.
private struct Parameters {
    enum Meaning {
        case proof, companion, time, token, content, azure
    }

    private struct Parameter {
        /// With the separator.
        var start: Int
        /// Behind the separator.
        var text: ArraySlice<UInt8>
        var meaning: Meaning?
        /// The operator's word.
        var isKept = false
        var isLeftOut = false

        var name: ArraySlice<UInt8> { text.prefix { $0 != UInt8(ascii: "=") } }
    }

    private let query: ArraySlice<UInt8>
    private var all: [Parameter] = []
    /// A signature stands in it.
    private(set) var isProved = false
    /// A signature or a token does.
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
            // The first one may be empty: a separator behind it is the next one's.
            var parameter = Parameter(
                start: start, text: query[index..<end], meaning: Self.meaning(query[index..<end]))
            if !names.isEmpty { Self.apply(names, to: &parameter) }
            all.append(parameter)
            index = end
        } while index < query.endIndex
        judge()
    }

    /// What is left out counts beside the others as what it looks like, and what is kept as nothing.
    private static func apply(_ names: KeyQueryRules.Names, to parameter: inout Parameter) {
        let name = SignedNames.lowercased(parameter.name)
        parameter.isLeftOut = names.leaveOut.contains(name)
        guard names.keep.contains(name), !SignedPath.isFields(parameter.text) else { return }
        parameter.isKept = true
        parameter.meaning = nil
    }

    /// Of `&amp;`, what follows the first character.
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

    /// What parameters mean beside each other.
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
        // A hash with an end may be a signature, and may choose what is answered, unless the end is a signature's.
        if isHashWithEnd, !hasProof {
            let isVague = !all.indices.contains { all[$0].meaning == .time && names[$0] != "t" }
            for place in all.indices where all[place].meaning == .content {
                if isVague, SignedNames.vagueContent.contains(names[place]) { continue }
                all[place].meaning = .token
            }
        }
        isSigned = hasProof || all.contains { $0.meaning == .token }
        guard hasProof else { return }
        guard names.contains("sig"), names.contains("sv") else { return }
        for (place, name) in names.enumerated() where SignedNames.azure.contains(name) {
            all[place].meaning = .azure
        }
    }

    /// The query without the parameters that `isLeftOut` names; nil where all stay.
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
