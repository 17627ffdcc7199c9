package import Digest
package import Model

/// What is known of a body that has not come to its end: which bytes lie there, and of what.
///
/// Nothing in it is taken on trust when it is read again: the bytes are hashed anew and compared, so
/// that neither a power cut nor another writer makes wrong bytes of a partial body.
package struct PartialRecord: Hashable, Sendable {
    /// Bytes from the start of what was asked for, which is the whole object or one range of it.
    package var bytes: Int64
    /// Of these bytes.
    package var sha256: SHA256Digest
    /// Length of the whole object.
    package var totalBytes: Int64
    /// The strong ETag or the Last-Modified date that the object had.
    package var validator: String
    /// Tells the URL that the body came from in the end: validators of two URLs say nothing of each
    /// other.
    package var source: SHA256Digest
    /// What the origin said of the whole object.
    package var digests: [ExpectedDigest]

    package init(
        bytes: Int64, sha256: SHA256Digest, totalBytes: Int64, validator: String,
        source: SHA256Digest, digests: [ExpectedDigest] = []
    ) {
        self.bytes = bytes
        self.sha256 = sha256
        self.totalBytes = totalBytes
        self.validator = validator
        self.source = source
        self.digests = digests
    }
}

extension PartialRecord {
    /// What is still to come of a whole object.
    package var restBytes: Int64 { totalBytes - bytes }

    /// As text, for a place that is no site's: of the same length however many bytes there are.
    package var text: [UInt8] {
        PartialRecordText(self, of: AssetID(0), isClosed: true).bytes
    }

    /// Nil for anything but a whole record.
    package init?(text: [UInt8]) {
        guard let text = PartialRecordText(text) else { return nil }
        self = text.record
    }

    /// Longest text that is read, in bytes.
    package static let maximumTextBytes = PartialRecordText.maximumBytes
}

/// What a partial body is the start of; two attempts of one cluster that fetch the same have the same one.
///
/// Records are found by it, so that a cluster finds its own alone: the numbers of assets and jobs in them
/// are those of one database.
package struct PartialIdentity: Hashable, Sendable {
    /// Of what was asked for and where it is to lie, 16 hex digits.
    let exact: String
    /// Of whose only object it is, whatever its URL is by then; 16 hex digits.
    let owner: String

    var name: String { exact + owner }

    /// A whole object, by what was asked for and where it is to lie.
    ///
    /// - Parameters:
    ///   - cluster: empty where none is known.
    ///   - asset: whose only object it is: another attempt finds it by that as well, for a URL that is
    ///     signed is another one each time. Nil for one of several objects.
    package init(url: String, key: String, cluster: ClusterID, asset: AssetID? = nil) {
        exact = Self.half("object\n\(cluster)\n\(url)\n\(key)")
        owner = Self.half(asset.map { "asset\n\(cluster)\n\($0)" } ?? "none\n\(exact)")
    }

    /// A range of a large file.
    package init(assembly: String, offset: Int64, length: Int64) {
        exact = Self.half("range\n\(assembly)\n\(offset)\n\(length)")
        owner = Self.half("none\n\(exact)")
    }

    private static func half(_ text: String) -> String {
        String(SHA256Digest(hashing: Array(text.utf8)).description.prefix(halfBytes))
    }

    static let halfBytes = 16
    static let nameBytes = 2 * halfBytes
}

/// One attempt at an object, which writes to a file of its own.
package struct ObjectAttempt: Hashable, Sendable {
    package var lease: LeaseID
    /// A number is granted once, and a later attempt at the same work has a higher one: whoever finds
    /// a lower one knows that its lease is over, and whoever finds a higher one that its own is.
    package var job: JobID
    /// Whose object it is: the same for every attempt at it.
    package var asset: AssetID

    package init(lease: LeaseID, job: JobID, asset: AssetID) {
        self.lease = lease
        self.job = job
        self.asset = asset
    }

    func temporaryName() throws(Failure) -> String {
        try PrivateName.temporary(lease: lease, job: job)
    }
}

/// The partial bodies that lay at a site at one moment.
package struct PartialIndex: Sendable {
    /// Names of the records of each, by either half of an identity.
    private var exact: [String: [String]] = [:]
    private var owner: [String: [String]] = [:]

    /// Nothing.
    package init() {}

    package var isEmpty: Bool { exact.isEmpty }

    package func contains(_ identity: PartialIdentity) -> Bool {
        exact[identity.exact] != nil || owner[identity.owner] != nil
    }

    /// Takes up a record, by its name.
    mutating func add(_ name: String) {
        guard name.utf8.count > PartialIdentity.nameBytes + 1 else { return }
        let halves = name.prefix(PartialIdentity.nameBytes)
        exact[String(halves.prefix(PartialIdentity.halfBytes)), default: []].append(name)
        owner[String(halves.suffix(PartialIdentity.halfBytes)), default: []].append(name)
    }

    /// Records of that identity, and of what else is its owner's.
    func names(of identity: PartialIdentity) -> [String] {
        let known = exact[identity.exact] ?? []
        return known + (owner[identity.owner] ?? []).filter { !known.contains($0) }
    }
}

/// The text of a record: a line a field, the same length however much has come.
struct PartialRecordText {
    static let maximumBytes = 16 << 10
    private static let head = "dray partial 1"

    /// The writer has ended: nobody writes to the file any more.
    var isClosed: Bool
    /// The writer's.
    var asset: AssetID
    var record: PartialRecord

    init(_ record: PartialRecord, of asset: AssetID, isClosed: Bool) {
        self.record = record
        self.asset = asset
        self.isClosed = isClosed
    }

    var bytes: [UInt8] {
        let digits = String(record.bytes)
        let lines =
            [
                Self.head, "closed \(isClosed ? 1 : 0)", "asset \(asset)",
                "bytes \(String(repeating: "0", count: max(19 - digits.count, 0)))\(digits)",
                "sha256 \(record.sha256)", "total \(record.totalBytes)",
                "source \(record.source)", "validator \(record.validator)",
            ] + record.digests.map { "digest \($0)" } + ["end"]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// Nil for anything but a whole record.
    init?(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        guard lines.popLast() == "", lines.popLast() == "end", lines.popFirst() == Self.head[...]
        else { return nil }
        var fields: [Substring: Substring] = [:]
        var digests: [ExpectedDigest] = []
        for line in lines {
            guard let space = line.firstIndex(of: " ") else { return nil }
            let value = line[line.index(after: space)...]
            if line[..<space] == "digest" {
                guard let digest = ExpectedDigest(value) else { return nil }
                digests.append(digest)
            } else {
                fields[line[..<space]] = value
            }
        }
        guard let closed = fields["closed"], let asset = fields["asset"].flatMap({ Int64($0) }),
            let count = fields["bytes"].flatMap({ Int64($0) }),
            let sha256 = fields["sha256"].flatMap({ SHA256Digest(hex: $0) }),
            let total = fields["total"].flatMap({ Int64($0) }),
            let source = fields["source"].flatMap({ SHA256Digest(hex: $0) }),
            let validator = fields["validator"], !validator.isEmpty, count > 0, count < total
        else { return nil }
        isClosed = closed == "1"
        self.asset = AssetID(asset)
        record = PartialRecord(
            bytes: count, sha256: sha256, totalBytes: total, validator: String(validator),
            source: source, digests: digests)
    }
}
