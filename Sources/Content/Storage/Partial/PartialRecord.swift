package import Digest
package import Model

/// Record of an incomplete body: its bytes, and the object they belong to.
///
/// A reader trusts none of it: the bytes are hashed again and compared. So neither a power cut nor
/// another writer can produce wrong bytes.
package struct PartialRecord: Hashable, Sendable {
    /// Bytes from the start of the request, which is the whole object or one range of it.
    package var bytes: Int64
    /// Digest of these bytes.
    package var sha256: SHA256Digest
    /// Length of the whole object.
    package var totalBytes: Int64
    /// The strong ETag or the Last-Modified date that the object had.
    package var validator: String
    /// Identifies the final URL of the body; validators of two URLs cannot be compared.
    package var source: SHA256Digest
    /// Digests that the origin stated of the whole object.
    package var digests: [ExpectedDigest]
    /// The start that is in the bucket, not in the file; at most `bytes` long.
    package var sent: SentStart?

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
    /// Missing bytes of a whole object.
    package var restBytes: Int64 { totalBytes - bytes }

    /// Records a start that is sent, and at least its bytes.
    mutating func advance(to start: SentStart) {
        sent = start
        guard start.bytes > bytes else { return }
        bytes = start.bytes
        sha256 = start.sha256
    }

    /// True for a complete body, which was received but not stored.
    ///
    /// - Parameter length: That of its range; nil for a whole object.
    package func isComplete(length: Int64?) -> Bool { bytes == length ?? totalBytes }

    /// The record as text, for a location outside the sites. Its length does not depend on the
    /// progress.
    package var text: [UInt8] {
        PartialRecordText(self, of: BodyOwner(asset: AssetID(0)), isClosed: true).bytes
    }

    /// Returns nil unless `text` is a complete record.
    package init?(text: [UInt8]) {
        guard let text = PartialRecordText(text), text.record.restBytes > 0 else { return nil }
        self = text.record
    }

    /// Maximum length of a text to read, in bytes.
    package static let maximumTextBytes = PartialRecordText.maximumBytes
}

/// Identity of a partial body; attempts of one cluster at the same object have the same one.
///
/// Records are found by it. It includes the cluster, because the numbers of assets and jobs belong
/// to one database.
package struct PartialIdentity: Hashable, Sendable {
    /// Hash of the request and its target, 16 hex digits.
    let exact: String
    /// Hash of the asset whose only object it is, independent of its URL; 16 hex digits.
    let owner: String

    var name: String { exact + owner }

    /// Identifies a whole object by its request and its target.
    ///
    /// - Parameters:
    /// - cluster: Nil if unknown.
    /// - asset: The asset whose only object it is. Another attempt also finds it by that, because a
    ///   signed URL changes each time. Nil for one of several objects.
    package init(url: String, key: String, cluster: ClusterID?, asset: AssetID? = nil) {
        let cluster = cluster?.description ?? ""
        exact = Self.half("object\n\(cluster)\n\(url)\n\(key)")
        owner = Self.half(asset.map { "asset\n\(cluster)\n\($0)" } ?? "none\n\(exact)")
    }

    /// Identifies a range of a large file.
    package init(multipart: MultipartID, offset: Int64, length: Int64) {
        exact = Self.half("range\n\(multipart)\n\(offset)\n\(length)")
        owner = Self.half("none\n\(exact)")
    }

    private static func half(_ text: String) -> String {
        String(SHA256Digest(hashing: Array(text.utf8)).description.prefix(halfBytes))
    }

    static let halfBytes = 16
    static let nameBytes = 2 * halfBytes
}

/// The asset of an interrupted body. Numbers of assets are those of one database.
package struct BodyOwner: Hashable, Sendable {
    /// Nil if unknown.
    package var cluster: ClusterID?
    package var asset: AssetID

    package init(cluster: ClusterID? = nil, asset: AssetID) {
        self.cluster = cluster
        self.asset = asset
    }
}

/// One attempt at an object, which writes to its own file.
package struct ObjectAttempt: Hashable, Sendable {
    package var lease: LeaseID
    /// The job's number, which is granted once and grows with each attempt at the same work. A
    /// lower number shows an expired lease; a higher one shows that the attempt's own has expired.
    package var job: JobID
    /// The asset of the object: the same for every attempt at it.
    package var asset: AssetID
    /// The cluster that granted the lease; nil if unknown.
    package var cluster: ClusterID?

    package init(lease: LeaseID, job: JobID, asset: AssetID, cluster: ClusterID? = nil) {
        self.lease = lease
        self.job = job
        self.asset = asset
        self.cluster = cluster
    }

    var owner: BodyOwner { BodyOwner(cluster: cluster, asset: asset) }

    var temporaryName: String { PrivateName.temporary(lease: lease, job: job) }
}

/// The partial bodies at a site at one moment.
package struct PartialIndex: Sendable {
    /// Names of the records, by either half of an identity.
    private var exact: [String: [String]] = [:]
    private var owner: [String: [String]] = [:]

    /// Creates an empty index.
    package init() {}

    package var isEmpty: Bool { exact.isEmpty }

    package func contains(_ identity: PartialIdentity) -> Bool {
        exact[identity.exact] != nil || owner[identity.owner] != nil
    }

    /// Adds a record by its name.
    mutating func add(_ name: String) {
        guard name.utf8.count > PartialIdentity.nameBytes + 1 else { return }
        let halves = name.prefix(PartialIdentity.nameBytes)
        exact[String(halves.prefix(PartialIdentity.halfBytes)), default: []].append(name)
        owner[String(halves.suffix(PartialIdentity.halfBytes)), default: []].append(name)
    }

    /// Returns the names of records with that identity, then of others with its owner.
    func names(of identity: PartialIdentity) -> [String] {
        let known = exact[identity.exact] ?? []
        return known + (owner[identity.owner] ?? []).filter { !known.contains($0) }
    }
}

/// The text of a record: one line per field, with a constant length.
struct PartialRecordText {
    static let maximumBytes = 16 << 10
    private static let head = "dray partial 1"

    /// True if the writer has ended, so that the file no longer changes.
    var isClosed: Bool
    /// Whose body it is.
    var owner: BodyOwner
    var record: PartialRecord

    init(_ record: PartialRecord, of owner: BodyOwner, isClosed: Bool) {
        self.record = record
        self.owner = owner
        self.isClosed = isClosed
    }

    var bytes: [UInt8] {
        let digits = String(record.bytes)
        let lines =
            [
                Self.head, "closed \(isClosed ? 1 : 0)", "asset \(owner.asset)",
                "bytes \(String(repeating: "0", count: max(19 - digits.count, 0)))\(digits)",
                "sha256 \(record.sha256)", "total \(record.totalBytes)",
                "source \(record.source)", "validator \(record.validator)",
            ] + (owner.cluster.map { ["cluster \($0)"] } ?? [])
            + record.digests.map { "digest \($0)" }
            + (record.sent.map { ["sent \($0.bytes) \($0.state.hex) \($0.tags)"] } ?? []) + ["end"]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// Returns nil unless `bytes` is a complete record.
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
            let validator = fields["validator"], !validator.isEmpty, count > 0, count <= total
        else { return nil }
        isClosed = closed == "1"
        owner = BodyOwner(
            cluster: fields["cluster"].flatMap { ClusterID(String($0)) }, asset: AssetID(asset))
        record = PartialRecord(
            bytes: count, sha256: sha256, totalBytes: total, validator: String(validator),
            source: source, digests: digests)
        guard let sent = fields["sent"] else { return }
        let words = sent.split(separator: " ")
        guard words.count == 3, let bytes = Int64(words[0]), bytes > 0, bytes <= count,
            let state = SHA256State(hex: words[1], byteCount: bytes),
            let tags = SHA256Digest(hex: words[2])
        else { return nil }
        record.sent = SentStart(state: state, tags: tags)
    }
}
