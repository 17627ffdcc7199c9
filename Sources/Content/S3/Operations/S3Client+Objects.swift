internal import Digest
internal import Foundation
package import Model
internal import Synchronization

/// An object's description, without its bytes.
package struct ObjectHead: Sendable, Hashable {
    package var bytes: Int64
    package var etag: String?
    /// SHA-256 in hex, as the server computed it or Dray recorded it; nil for neither.
    package var sha256: String?
}

/// One object of a listing.
package struct ListedObject: Sendable, Hashable {
    package var key: String
    package var bytes: Int64
    package var etag: String?
    /// Seconds since 1970.
    package var modifiedSeconds: Int64?
}

/// Received bytes of an object that is read.
private final class ReceivedObject: Sendable {
    private struct State {
        var bytes: Int64 = 0
        var etag: String?
        var isOther = false
    }

    private let state: Mutex<State>

    init(etag: String?) { state = Mutex(State(etag: etag)) }

    var bytes: Int64 { state.withLock { $0.bytes } }
    /// That of its first bytes.
    var etag: String? { state.withLock { $0.etag } }
    /// True once an answer had another object.
    var isOther: Bool { state.withLock { $0.isOther } }

    func add(_ count: Int) { state.withLock { $0.bytes += Int64(count) } }

    /// Returns true if an answer is of the same object, or the first one.
    func isSame(_ etag: String?) -> Bool {
        state.withLock { state in
            guard let first = state.etag else {
                state.etag = etag
                return true
            }
            state.isOther = etag != first
            return !state.isOther
        }
    }
}

extension S3Client {
    /// Header lines that each write of an object needs.
    func storageHeaders() -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        switch bucket.encryption {
        case .ofBucket: break
        case .managed: headers.append(("x-amz-server-side-encryption", "AES256"))
        case .keyService(let key):
            headers.append(("x-amz-server-side-encryption", "aws:kms"))
            if let key {
                headers.append(("x-amz-server-side-encryption-aws-kms-key-id", key))
            }
        }
        if let storageClass = bucket.storageClass {
            headers.append(("x-amz-storage-class", storageClass))
        }
        return headers
    }

    /// Requires the state of a key for a write. Servers that know no conditions write anyway.
    package enum Condition: Sendable, Hashable {
        case none
        case missing
        case etag(String)

        var header: (name: String, value: String)? {
            switch self {
            case .none: nil
            case .missing: ("if-none-match", "*")
            case .etag(let etag): ("if-match", etag)
            }
        }
    }

    /// Stores an object; the server checks its SHA-256. It is durable and visible, whole, when this
    /// returns true; false if the key's state is another one than required.
    ///
    /// - Parameter sha256: Of the body, in hex.
    package func put(
        _ key: String, _ body: UploadBody, sha256: String, if condition: Condition = .none,
        isWanted: @escaping @Sendable () -> Bool = { true }
    ) async throws(Failure) -> Bool {
        var request = S3Request("PUT", key)
        request.body = body
        request.bodyHash = sha256
        request.headers = storageHeaders()
        request.headers.append(("content-type", MediaType.of(key)))
        request.headers.append(("x-amz-checksum-sha256", Self.base64(ofHex: sha256)))
        request.headers.append(("x-amz-meta-dray-sha256", sha256))
        request.isWanted = isWanted
        let unconditional = request
        if let header = condition.header {
            request.headers.append(header)
            // The object whose ETag is required may be gone; some servers implement no conditions.
            request.accepted = condition == .missing ? [412, 501] : [404, 412, 501]
        }
        var answer = try await send(request)
        if answer.status == 501 { answer = try await send(unconditional) }
        guard (200..<300).contains(answer.status) else { return false }
        guard answer.headers["etag"] != nil else {
            throw Failure(.storageNotS3, "\(bucket.endpointURL): no ETag of an object")
        }
        let checksum = answer.headers["x-amz-checksum-sha256"].flatMap { Self.hex(ofBase64: $0) }
        guard checksum ?? sha256 == sha256 else {
            throw Failure(.storageBadDigest, "\(Redaction.path(key)) is damaged")
        }
        return true
    }

    /// Returns nil if there is no such object.
    package func head(_ key: String) async throws(Failure) -> ObjectHead? {
        var request = S3Request("HEAD", key)
        request.headers = [("x-amz-checksum-mode", "ENABLED")]
        request.accepted = [404]
        let answer = try await send(request)
        guard answer.status != 404 else { return nil }
        guard let bytes = answer.headers["content-length"].flatMap({ Int64($0) }) else {
            throw Failure(.storageNotS3, "\(Redaction.path(key)): a HEAD without a length")
        }
        // That of an object in parts is one of their checksums. Not every server marks it.
        let isOfParts = answer.headers["etag"]?.contains("-") == true
        let checksum =
            isOfParts
            ? nil : answer.headers["x-amz-checksum-sha256"].flatMap { Self.hex(ofBase64: $0) }
        return ObjectHead(
            bytes: bytes, etag: answer.headers["etag"],
            sha256: answer.headers["x-amz-meta-dray-sha256"] ?? checksum)
    }

    /// Reads an object; `sink` gets its bytes on the loop, in order and once. Returns false if there
    /// is none. A connection that breaks is continued by a range of the same object: throws
    /// `content.changed` if the key has another one by then.
    ///
    /// - Parameters:
    ///   - offset, length: Of a range, which lies in the object; nil for its end.
    ///   - etag: That of the object; nil for whatever the key has.
    package func get(
        _ key: String, offset: Int64 = 0, length: Int64? = nil, etag: String? = nil,
        into sink: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool
    ) async throws(Failure) -> Bool {
        let received = ReceivedObject(etag: etag)
        var failures = 0
        while true {
            let before = received.bytes
            let start = offset + before
            var request = S3Request("GET", key)
            if start > 0 || length != nil {
                let end = length.map { "\(offset + $0 - 1)" } ?? ""
                request.headers = [("range", "bytes=\(start)-\(end)")]
            }
            let isRange = !request.headers.isEmpty
            if let etag = received.etag { request.headers.append(("if-match", etag)) }
            request.sink = { bytes in
                received.add(bytes.count)
                return sink(bytes)
            }
            // Not every server knows the condition.
            request.admits = { received.isSame($0) }
            request.maximumTries = 1
            request.accepted = [404, 412]
            do throws(Failure) {
                let status = try await send(request).status
                guard status != 412, !received.isOther else {
                    throw Failure(
                        .contentChanged, "\(Redaction.path(key)) has changed while it was read")
                }
                guard status == 404 || !isRange || status == 206 else {
                    throw Failure(
                        .storageNotS3, "\(bucket.endpointURL): status \(status) to a range")
                }
                return status != 404
            } catch {
                // Without an ETag, nothing says whether the rest is that of the same object.
                guard [.storageUnavailable, .storageSlowDown].contains(error.code),
                    length != received.bytes, received.etag != nil || received.bytes == 0
                else { throw error }
                // Each try brings something, or counts.
                failures = received.bytes - before >= 1 << 20 ? 0 : failures + 1
                guard failures < S3Request.tries else { throw error }
                try? await Task.sleep(for: .milliseconds(100 << failures))
            }
        }
    }

    /// Reads a small object; nil if there is none.
    package func getSmall(_ key: String) async throws(Failure) -> [UInt8]? {
        var request = S3Request("GET", key)
        request.accepted = [404]
        let answer = try await send(request)
        return answer.status == 404 ? nil : answer.body
    }

    /// Deletes objects; a missing one is no failure. Throws the first failure of one.
    package func delete(_ keys: [String]) async throws(Failure) {
        if let failure = try await deleteEach(keys).values.first { throw failure }
    }

    /// Deletes objects, 1,000 to a request; a missing one is no failure. Returns the failures of
    /// those that the server keeps, by key.
    package func deleteEach(
        _ keys: [String], isWanted: @escaping @Sendable () -> Bool = { true }
    ) async throws(Failure) -> [String: Failure] {
        var failures: [String: Failure] = [:]
        for start in stride(from: 0, to: keys.count, by: 1_000) {
            let batch = keys[start..<min(start + 1_000, keys.count)]
            let items = batch.map { "<Object><Key>\(Self.escaped($0))</Key></Object>" }.joined()
            let content = Array("<Delete><Quiet>true</Quiet>\(items)</Delete>".utf8)
            var request = S3Request("POST", "")
            request.query = [("delete", "")]
            request.setBody(content)
            // Servers of before 2025 require it.
            request.headers.append(("content-md5", Self.md5(of: content)))
            request.isWanted = isWanted
            let answer = try await send(request)
            guard let root = AnswerDocument(answer.body)?.root, root.name == "DeleteResult" else {
                throw Failure(
                    .storageNotS3, "\(bucket.endpointURL): no result of deletions in the answer")
            }
            for refused in root.all("Error") {
                let (key, code) = (refused["Key"] ?? "", (refused["Code"] ?? "").prefix(100))
                failures[key] = Failure(
                    code == "AccessDenied" ? .storageAccessDenied : .storageUnavailable,
                    "\(Redaction.path(key)) is not deleted: \(code)")
            }
        }
        return failures
    }

    /// Returns the next objects in the order of their keys, at most `count`, which is 1 to 1,000.
    ///
    /// - Parameter after: The last key of the page before; nil for the first page.
    package func list(
        prefix: String, after: String? = nil, atMost count: Int = 1_000
    ) async throws(Failure) -> (objects: [ListedObject], isLast: Bool) {
        var request = S3Request("GET", "")
        request.query = [("list-type", "2"), ("prefix", prefix)]
        if count < 1_000 { request.query.append(("max-keys", "\(count)")) }
        if let after { request.query.append(("start-after", after)) }
        let answer = try await send(request)
        guard let root = AnswerDocument(answer.body)?.root, root.name == "ListBucketResult" else {
            throw Failure(.storageNotS3, "\(bucket.endpointURL): no list of objects in the answer")
        }
        let objects = root.all("Contents").compactMap { item -> ListedObject? in
            guard let key = item["Key"], let bytes = item["Size"].flatMap({ Int64($0) }) else {
                return nil
            }
            return ListedObject(
                key: key, bytes: bytes, etag: item["ETag"],
                modifiedSeconds: item["LastModified"].flatMap(SigningTime.seconds))
        }
        return (objects, root["IsTruncated"] != "true" || objects.isEmpty)
    }

    private static func md5(of content: [UInt8]) -> String {
        var digests = DigestSet([.md5])
        content.withUnsafeBytes { digests.update($0) }
        return base64(ofHex: digests.finish().others.first?.hex ?? "")
    }

    static func base64(ofHex hex: String) -> String {
        var bytes: [UInt8] = []
        var rest = hex.utf8[...]
        while rest.count >= 2 {
            let pair = String(decoding: rest.prefix(2), as: UTF8.self)
            bytes.append(UInt8(pair, radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return Data(bytes).base64EncodedString()
    }

    static func hex(ofBase64 text: String) -> String? {
        guard let data = Data(base64Encoded: text), data.count == 32 else { return nil }
        return data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Returns text for an XML document.
    static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            default:
                if scalar.value < 0x20 {
                    out += "&#\(scalar.value);"
                } else {
                    out.unicodeScalars.append(scalar)
                }
            }
        }
        return out
    }
}
