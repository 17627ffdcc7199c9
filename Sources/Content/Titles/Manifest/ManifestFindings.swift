import Model
import WebURL

/// The handling of manifests that break a rule which players tolerate.
package enum ManifestPolicy: Sendable {
    /// Parses it as players do, with a warning.
    case lenient
    /// Rejects it.
    case strict
}

extension TitleOptions {
    var policy: ManifestPolicy { isStrict ?? false ? .strict : .lenient }
}

/// Handles broken rules and collects warnings.
struct ManifestFindings: Sendable {
    let policy: ManifestPolicy
    private(set) var warnings = ManifestWarnings()
    private let manifest: WebURL
    /// Its redacted text, made for the first warning.
    private var shown: String?

    init(_ policy: ManifestPolicy, of manifest: WebURL) {
        self.policy = policy
        self.manifest = manifest
    }

    var isStrict: Bool { policy == .strict }

    /// Records a broken rule.
    ///
    /// - Parameters:
    ///   - line: from 1; 0 for none.
    ///   - failure: makes the failure of a strict parse; its text is evaluated once per rule.
    mutating func note(
        _ rule: ManifestRule, line: Int, _ what: () -> String,
        else failure: (String) -> Failure
    ) throws(Failure) {
        if isStrict { throw failure(what()) }
        warn(rule, line: line, what)
    }

    /// Records a broken rule that a strict parse detects elsewhere.
    mutating func warn(_ rule: ManifestRule, line: Int, _ what: () -> String) {
        let shown = shown ?? ManifestWarnings.clipped("\(manifest)")
        self.shown = shown
        warnings.add(rule, in: shown, line: line > 0 ? line : nil, what)
    }
}
