internal import Digest
internal import Model
internal import S3

/// Record of an upload in parts, in `.dray/uploads` of the bucket: lines of text.
struct UploadRecord: Sendable, Hashable {
    /// Whose upload it is.
    enum Owner: Sendable, Hashable {
        /// One worker sends the object, under this lease. The asset is 0 if no other attempt at the
        /// same job would find the bytes.
        case lease(LeaseID, BodyOwner)
        /// Several workers send a file in parts.
        case multipart(MultipartID)

        init?(_ text: some StringProtocol) {
            let words = text.split(separator: " ")
            switch words.first {
            case "lease":
                guard (3...4).contains(words.count), let id = LeaseID(String(words[1])),
                    let asset = Int64(words[2])
                else { return nil }
                let cluster = words.count == 4 ? ClusterID(String(words[3])) : nil
                self = .lease(id, BodyOwner(cluster: cluster, asset: AssetID(asset)))
            case "multipart":
                guard words.count == 2, let id = MultipartID(String(words[1])) else { return nil }
                self = .multipart(id)
            default: return nil
            }
        }

        /// The attempt that staged an object, by its temporary name.
        static func staged(_ name: String) -> Owner {
            .lease(DirectoryStorage.lease(in: name) ?? .zero, BodyOwner(asset: AssetID(0)))
        }

        static func attempt(_ attempt: ObjectAttempt) -> Owner {
            .lease(attempt.lease, attempt.owner)
        }

        var text: String {
            switch self {
            case .lease(let id, let owner):
                "lease \(id) \(owner.asset)" + (owner.cluster.map { " \($0)" } ?? "")
            case .multipart(let id): "multipart \(id)"
            }
        }
    }

    /// Can move to: begun, once the server has answered.
    enum State: Sendable, Hashable {
        /// About to begin, or begun by a request without an answer: then it is no upload of
        /// `others`, which the key had before, percent-encoded.
        case beginning(others: Set<String>)
        case begun(id: String)

        fileprivate init?(_ text: Substring) {
            let words = text.split(separator: " ")
            switch words.first {
            case "beginning": self = .beginning(others: Set(words.dropFirst().map(String.init)))
            case "begun":
                guard words.count >= 2 else { return nil }
                self = .begun(id: String(text.dropFirst("begun ".count)))
            default: return nil
            }
        }

        fileprivate var text: String {
            switch self {
            case .beginning(let others):
                (["beginning"] + others.sorted()).joined(separator: " ")
            case .begun(let id): "begun \(id)"
            }
        }
    }

    var state: State
    /// Key in the bucket.
    let key: String
    let bytes: Int64
    let partBytes: Int64
    var owner: Owner

    init(_ state: State, key: String, bytes: Int64, partBytes: Int64, owner: Owner) {
        (self.state, self.key, self.owner) = (state, key, owner)
        (self.bytes, self.partBytes) = (bytes, partBytes)
    }

    private static let head = "dray upload 3"

    /// Returns nil for other content.
    init?(_ content: [UInt8]) {
        let lines = String(decoding: content, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 6, lines[0] == Self.head, let state = State(lines[1]),
            let bytes = Int64(lines[2]), let partBytes = Int64(lines[3]), partBytes > 0,
            let owner = Owner(lines[4])
        else { return nil }
        self.init(
            state, key: lines[5...].joined(separator: "\n"), bytes: bytes, partBytes: partBytes,
            owner: owner)
    }

    var content: [UInt8] {
        Array(
            "\(Self.head)\n\(state.text)\n\(bytes)\n\(partBytes)\n\(owner.text)\n\(key)".utf8)
    }
}

/// The SHA-256 of an object that was sent in parts, recorded in `.dray/digests` of the bucket: its
/// metadata was sent before its last bytes were known. Holds for the object with this ETag alone.
struct DigestRecord: Sendable, Hashable {
    let etag: String
    let stored: StoredObject
    let key: String

    init(etag: String, stored: StoredObject, key: String) {
        self.etag = etag.filter { $0 != "\"" }
        (self.stored, self.key) = (stored, key)
    }

    private static let head = "dray digest 1"

    init?(_ content: [UInt8]) {
        let lines = String(decoding: content, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 5, lines[0] == Self.head, let bytes = Int64(lines[2]),
            let digest = SHA256Digest(hex: lines[3])
        else { return nil }
        self.init(
            etag: String(lines[1]),
            stored: StoredObject(bytes: bytes, sha256: digest.description),
            key: lines[4...].joined(separator: "\n"))
    }

    var content: [UInt8] {
        Array("\(Self.head)\n\(etag)\n\(stored.bytes)\n\(stored.sha256)\n\(key)".utf8)
    }

    func isOf(_ key: String, _ head: ObjectHead) -> Bool {
        self.key == key && stored.bytes == head.bytes
            && head.etag?.filter { $0 != "\"" } == etag
    }
}

extension S3Storage {
    func recordKey(of key: String) -> String {
        privateKey("uploads/\(SHA256Digest(hashing: Array(key.utf8)))")
    }

    func recordKey(of id: MultipartID) -> String { privateKey("uploads/\(id)") }

    func digestKey(of key: String) -> String {
        privateKey("digests/\(SHA256Digest(hashing: Array(key.utf8)))")
    }

    /// Returns what the bucket has under a key, with the SHA-256 that was recorded of it.
    func head(_ key: String) async throws(Failure) -> ObjectHead? {
        guard var head = try await client.head(key) else { return nil }
        // Smaller objects have it as metadata.
        if head.sha256 == nil, head.bytes > Self.partBytes,
            let content = try await client.getSmall(digestKey(of: key)),
            let record = DigestRecord(content), record.isOf(key, head)
        {
            head.sha256 = record.stored.sha256
        }
        return head
    }

    /// Writes one of Dray's own small objects.
    func putRecord(
        _ key: String, _ content: [UInt8], _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) {
        _ = try await client.put(
            key, UploadBody(content), sha256: SHA256Digest(hashing: content).description,
            isWanted: isOurs)
    }
}
