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

    /// First digit of the origin's HTTP status; nil for other failures.
    package var httpStatusClass: Int? {
        let parts = rawValue.split(separator: ".")
        guard parts.count == 3, parts[0] == "origin", parts[1] == "http" else { return nil }
        return parts[2].first?.wholeNumberValue
    }

    /// The name in words: `Cluster: database unreachable`.
    package var title: String {
        var words = ""
        for character in rawValue.dropFirst(family.count + 1) {
            if character == "." {
                words += " "
            } else if character.isUppercase, words.last?.isLowercase == true {
                words += " " + character.lowercased()
            } else {
                words.append(character)
            }
        }
        return family.prefix(1).uppercased() + family.dropFirst() + ": " + words
    }

    /// True if it is in the table.
    package var isKnown: Bool { Self.rowByName[rawValue] != nil }

    /// True if the cluster is temporarily unavailable, so that any request may succeed later.
    package var isOfUnavailableCluster: Bool {
        isOfUnreachableCoordinator
            || [
                .clusterDatabaseUnreachable, .clusterDatabaseCertificate, .clusterBusy,
                .clusterTooManyStreams, .clusterRateLimited, .clusterRequestRunning,
            ].contains(self)
    }

    /// True if no coordinator of the cluster was reachable; another one may be.
    package var isOfUnreachableCoordinator: Bool {
        [
            .clusterCoordinatorUnreachable, .clusterForeignCoordinator,
            .clusterUntrustedCertificate, .clusterCertificateName, .clusterCertificateExpired,
            .clusterClientCertificate, .clusterNotTLS,
        ].contains(self)
    }

    /// Codes of failures that nothing at Dray corrects: the origin does not have the object, or
    /// denies it to everyone who has no right to it, or the list's own rights do. No retry helps; a success rate without them
    /// judges the cluster.
    package static let unaddressable: [FailureCode] = [
        .originHTTP401, .originHTTP403, .originHTTP404, .originHTTP410, .originHTTP4xx,
        .inputExpired, .inputRights, .rightsMaxFetches, .rightsMaxSites,
    ]

    /// False if it is one of `unaddressable`.
    package var isAddressable: Bool { !Self.unaddressable.contains(self) }

    /// True if the origin says that an object which it served before is gone, or is another one by now:
    /// what is stored of it is outdated. False if the origin could not be asked, or did not say.
    package var outdatesStored: Bool {
        [.originHTTP404, .originHTTP410, .integrityDigestMismatch].contains(self)
            || family == "content"
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
package struct Failure: Error, Sendable {
    package var code: FailureCode
    /// The location in the caller's input; nil for none, and for a failure from another process.
    package var location: FailureLocation?
    /// The message without its location and without the allowed values.
    package let detail: String
    /// The allowed values; nil for none, and for a failure from another process.
    package let allowed: String?
    /// Advice on this occurrence; nil for that of the code.
    private let ownHint: String?

    /// - Parameter hint: advice on this occurrence; nil for that of the code.
    package init(_ code: FailureCode, _ message: String, hint: String? = nil) {
        self.init(code, at: nil, message, hint: hint)
    }

    /// Creates a failure in the caller's input, such as
    /// `Failure(.inputField, at: .line(3, field: "bytes"), "given -1", allowed: "0 to 10")`.
    package init(
        _ code: FailureCode, at location: FailureLocation?, _ detail: String,
        allowed: String? = nil,
        hint: String? = nil
    ) {
        self.code = code
        self.location = location
        self.detail = Self.bounded(detail)
        self.allowed = allowed
        ownHint = hint
    }

    /// Creates an `input.notFound` for something that a command lists.
    ///
    /// - Parameter command: the command with its arguments, such as `dray token list`.
    package static func notFound(_ message: String, listedBy command: String) -> Failure {
        Failure(
            .inputNotFound, message,
            hint: "Check the name or number: `\(command)` lists them, with --state DIR those of a "
                + "private cluster.")
    }

    /// Advice for the reader.
    package var hint: String { ownHint ?? code.row.hint }

    /// Returns the same failure with another message.
    package func with(message: String) -> Failure { Failure(code, message, hint: ownHint) }

    /// Returns the same failure with advice on this occurrence.
    package func with(hint: String) -> Failure {
        Failure(code, at: location, detail, allowed: allowed, hint: hint)
    }

    /// States the location, and the given and the allowed values; secrets are redacted, 500 characters
    /// at most. It is for people: code that decides uses the other properties.
    package var message: String {
        guard location != nil || allowed != nil else { return detail }
        let start = location.map { "\($0): " } ?? ""
        return Self.bounded(start + detail + (allowed.map { ", allowed \($0)" } ?? ""))
    }

    /// Returns the same failure at `location`; one that has a location keeps it in its message.
    package func at(_ location: FailureLocation) -> Failure {
        self.location == nil
            ? Failure(code, at: location, detail, allowed: allowed, hint: ownHint)
            : Failure(code, at: location, message, hint: ownHint)
    }

    /// Returns the same failure with the name of the document that it is in.
    package func inDocument(_ name: String) -> Failure {
        guard case .line(let line, let column, let field, nil) = location else {
            return with(message: "\(name): \(message)")
        }
        return Failure(
            code, at: .line(line, column: column, field: field, document: name), detail,
            allowed: allowed, hint: ownHint)
    }

    /// Bounds by scalars, because a single character can have any length.
    private static func bounded(_ message: String) -> String {
        String(String.UnicodeScalarView(message.unicodeScalars.prefix(500)))
    }
}

/// The location in a caller's input that a failure is about.
package indirect enum FailureLocation: Hashable, Sendable {
    /// A line, from 1; with the name of the document if there are several.
    case line(Int, column: Int? = nil, field: String? = nil, document: String? = nil)
    /// A manifest, by its URL without secrets or its file, and a line of it if known.
    case manifest(String, line: Int? = nil)
    /// A field of a scenario.
    case field(String)

    /// The line of a list; nil for another document's line.
    package var lineOfList: Int? {
        if case .line(let line, _, _, nil) = self { line } else { nil }
    }
}

extension FailureLocation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .line(let line, let column, let field, let document):
            (document.map { "\($0): " } ?? "") + "line \(line)"
                + (column.map { ", column \($0)" } ?? "") + (field.map { ": field \($0)" } ?? "")
        case .manifest(let name, let line): name + (line.map { " line \($0)" } ?? "")
        case .field(let name): "field \(name)"
        }
    }
}

/// Two failures are equal if people see the same.
extension Failure: Hashable {
    package static func == (one: Failure, other: Failure) -> Bool {
        one.code == other.code && one.message == other.message
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

/// In JSON, a failure is its code and its message.
extension Failure: Codable {
    private enum CodingKeys: CodingKey {
        case code, message
    }

    /// Decodes a failure from another process and bounds its message as well.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(FailureCode.self, forKey: .code),
            try container.decode(String.self, forKey: .message))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
        try container.encode(message, forKey: .message)
    }
}

extension Failure: CustomStringConvertible {
    package var description: String { "\(code): \(message)" }
}
