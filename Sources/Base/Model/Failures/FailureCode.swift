/// A stable dotted name that says what went wrong and whether a retry helps.
///
/// Every failure in Dray, in an error message, an API answer, a log or a report, carries one. The
/// one table is `FailureCode.table`; `docs/failures.md` is made from it.
package struct FailureCode: Hashable, Sendable, RawRepresentable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
    package init(_ rawValue: String) { self.rawValue = rawValue }

    /// Whether it is in the table.
    package var isKnown: Bool { Self.rowByName[rawValue] != nil }

    /// Whether the cluster cannot answer at the moment, whatever was asked for: asked again later, it may.
    package var isOfUnavailableCluster: Bool {
        isOfUnreachableCoordinator
            || ["cluster.databaseUnreachable", "cluster.busy"].contains(rawValue)
    }

    /// Whether no coordinator of the cluster was there; another one may be.
    package var isOfUnreachableCoordinator: Bool {
        ["cluster.coordinatorUnreachable", "cluster.foreignCoordinator"].contains(rawValue)
    }

    /// The row of the table; a name that is not in the table answers as `internal.unknown`.
    package var row: FailureRow { Self.rowByName[rawValue] ?? Self.unknownRow }
}

extension FailureCode: Codable {
    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension FailureCode: CustomStringConvertible {
    package var description: String { rawValue }
}

/// One row of the failure table.
package struct FailureRow: Sendable {
    /// Stable number, grouped by hundreds; never used for another code.
    package let number: Int
    package let code: FailureCode
    /// What happens to a job that fails with it.
    package let retry: Retry
    /// What the reader can do about it, one sentence.
    package let hint: String

    /// What a failure does to its job.
    package enum Retry: Sendable, Equatable {
        /// The job fails at once: trying again would end the same way.
        case never
        /// Tried again, with backoff, up to this many attempts in all.
        case attempts(Int)
        /// Tried again without using up an attempt: the fault is the site's, not the segment's.
        case siteFault
        /// Tried again by and by without using up an attempt: there is no room for it, and others go on.
        case waitsForRoom
    }

    /// True when a later attempt may succeed.
    package var isRetryable: Bool { retry != .never }
}

/// A failure as it is reported, stored and shown: a code and a sentence about this occurrence.
package struct Failure: Error, Codable, Hashable, Sendable {
    package var code: FailureCode
    /// Names what was given and what was expected; secrets are redacted, 500 characters at most.
    package var message: String

    package init(_ code: FailureCode, _ message: String) {
        self.code = code
        self.message = Self.bounded(message)
    }

    /// A failure that comes from elsewhere is bounded as well.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(FailureCode.self, forKey: .code)
        message = Self.bounded(try container.decode(String.self, forKey: .message))
    }

    /// In scalars: what looks like one character can be of any length.
    private static func bounded(_ message: String) -> String {
        String(String.UnicodeScalarView(message.unicodeScalars.prefix(500)))
    }
}

extension Failure: CustomStringConvertible {
    package var description: String { "\(code): \(message)" }
}
