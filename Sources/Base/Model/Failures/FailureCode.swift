/// A stable dotted name for a failure, which determines whether a retry helps.
///
/// Every failure in Dray, in an error message, an API answer, a log or a report, has one. The one
/// table is `FailureCode.table`; `docs/failures.md` is generated from it.
package struct FailureCode: Hashable, Sendable, RawRepresentable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
    package init(_ rawValue: String) { self.rawValue = rawValue }

    /// The first part of the name, such as `origin`: what failed.
    package var family: Substring { rawValue.prefix { $0 != "." } }

    /// True if it is in the table.
    package var isKnown: Bool { Self.rowByName[rawValue] != nil }

    /// True if the cluster is temporarily unavailable, so that any request may succeed later.
    package var isOfUnavailableCluster: Bool {
        isOfUnreachableCoordinator
            || [.clusterDatabaseUnreachable, .clusterBusy].contains(self)
    }

    /// True if no coordinator of the cluster was reachable; another one may be.
    package var isOfUnreachableCoordinator: Bool {
        [.clusterCoordinatorUnreachable, .clusterForeignCoordinator].contains(self)
    }

    /// The row of the table; a name that is not in the table returns `internal.unknown`.
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
    /// Rule for a job that fails with it.
    package let retry: Retry
    /// Advice for the reader, one sentence.
    package let hint: String

    /// Effect of a failure on its job.
    package enum Retry: Sendable, Equatable {
        /// The job fails at once: another attempt would fail in the same way.
        case never
        /// Retried with backoff, up to this many attempts in total.
        case attempts(Int)
        /// Retried without using up an attempt: the site failed, not the segment.
        case siteFault
        /// Retried later without using up an attempt: its space is missing, and others continue.
        case waitsForSpace
    }

    /// True if a later attempt may succeed.
    package var isRetryable: Bool { retry != .never }
}

/// A failure as it is reported, stored and shown: a code and a sentence about this occurrence.
package struct Failure: Error, Codable, Hashable, Sendable {
    package var code: FailureCode
    /// States the given and the expected values; secrets are redacted, 500 characters at most.
    package var message: String

    package init(_ code: FailureCode, _ message: String) {
        self.code = code
        self.message = Self.bounded(message)
    }

    /// Decodes a failure from another process and bounds it as well.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(FailureCode.self, forKey: .code)
        message = Self.bounded(try container.decode(String.self, forKey: .message))
    }

    /// Bounds by scalars, because a single character can have any length.
    private static func bounded(_ message: String) -> String {
        String(String.UnicodeScalarView(message.unicodeScalars.prefix(500)))
    }
}

extension Failure: CustomStringConvertible {
    package var description: String { "\(code): \(message)" }
}
