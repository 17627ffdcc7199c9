import Model
import WebURL

/// What becomes of a manifest that breaks a rule which players read past.
package enum ManifestPolicy: Sendable {
    /// It is read as players read it, with a warning.
    case lenient
    /// It is refused.
    case strict
}

extension TitleOptions {
    var policy: ManifestPolicy { isStrict ?? false ? .strict : .lenient }
}

/// Decides about rules that a manifest breaks, and keeps the warnings.
struct ManifestFindings: Sendable {
    let policy: ManifestPolicy
    private(set) var warnings = ManifestWarnings()
    private let manifest: WebURL
    /// Its text without secrets, made for the first warning.
    private var shown: String?

    init(_ policy: ManifestPolicy, of manifest: WebURL) {
        self.policy = policy
        self.manifest = manifest
    }

    var isStrict: Bool { policy == .strict }

    /// Takes note of a broken rule.
    ///
    /// - Parameters:
    ///   - line: from 1; 0 for none.
    ///   - failure: what a strict reading fails with, whose text is called for once a rule.
    mutating func note(
        _ rule: ManifestRule, line: Int, _ what: () -> String,
        else failure: (String) -> Failure
    ) throws(Failure) {
        if isStrict { throw failure(what()) }
        warn(rule, line: line, what)
    }

    /// Takes note of what a strict reading finds elsewhere.
    mutating func warn(_ rule: ManifestRule, line: Int, _ what: () -> String) {
        let shown = shown ?? ManifestWarnings.clipped("\(manifest)")
        self.shown = shown
        warnings.add(rule, in: shown, line: line > 0 ? line : nil, what)
    }
}
