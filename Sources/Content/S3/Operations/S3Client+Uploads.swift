internal import Digest
package import Model

/// A part that a server has of an upload.
package struct UploadedPart: Sendable, Hashable {
    package var number: Int
    package var bytes: Int64
    package var etag: String
    /// In hex; nil if the server keeps no checksums of parts.
    package var sha256: String?
}

/// An upload that was begun and not ended.
package struct UnfinishedUpload: Sendable, Hashable {
    package var key: String
    package var id: String
}

extension S3Client {
    /// Begins an upload in parts. `sha256` is the whole's, kept as metadata; nil if unknown.
    ///
    /// - Parameter tries: A repeated request whose answer was lost begins another upload.
    package func beginUpload(
        _ key: String, sha256: String?, tries: Int = S3Request.tries,
        isWanted: @escaping @Sendable () -> Bool = { true }
    ) async throws(Failure) -> String {
        var request = S3Request("POST", key)
        request.query = [("uploads", "")]
        request.headers = storageHeaders()
        request.headers.append(("content-type", MediaType.of(key)))
        request.headers.append(("x-amz-checksum-algorithm", "SHA256"))
        if let sha256 { request.headers.append(("x-amz-meta-dray-sha256", sha256)) }
        request.maximumTries = tries
        request.isWanted = isWanted
        let answer = try await send(request)
        guard let id = AnswerDocument(answer.body)?.root["UploadId"], !id.isEmpty else {
            throw Failure(.storageNotS3, "\(bucket.endpointURL): no UploadId in the answer")
        }
        return id
    }

    /// Sends a part; the server checks its SHA-256. Returns nil if there is no such upload.
    package func putPart(
        _ key: String, upload: String, number: Int, _ body: UploadBody, sha256: String,
        isWanted: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> UploadedPart? {
        var request = S3Request("PUT", key)
        request.query = [("partNumber", "\(number)"), ("uploadId", upload)]
        request.body = body
        request.bodyHash = sha256
        request.headers = [("x-amz-checksum-sha256", Self.base64(ofHex: sha256))]
        request.isWanted = isWanted
        request.acceptedCodes = ["NoSuchUpload"]
        let answer = try await send(request)
        guard (200..<300).contains(answer.status) else { return nil }
        guard let etag = answer.headers["etag"] else {
            throw Failure(.storageNotS3, "\(bucket.endpointURL): no ETag of a part")
        }
        let stored = answer.headers["x-amz-checksum-sha256"].flatMap { Self.hex(ofBase64: $0) }
        if let stored, stored != sha256 {
            throw Failure(.storageBadDigest, "part \(number) of \(Redaction.path(key)) is damaged")
        }
        return UploadedPart(
            number: number, bytes: Int64(body.count), etag: etag, sha256: stored)
    }

    /// Returns the parts of an upload by number; nil if there is no such upload.
    package func parts(
        of key: String, upload: String
    ) async throws(Failure) -> [Int: UploadedPart]? {
        var parts: [Int: UploadedPart] = [:]
        var after: String?
        while true {
            var request = S3Request("GET", key)
            request.query = [("uploadId", upload)]
            if let after { request.query.append(("part-number-marker", after)) }
            request.accepted = [404]
            let answer = try await send(request)
            guard answer.status != 404 else { return nil }
            guard let root = AnswerDocument(answer.body)?.root else { return nil }
            for item in root.all("Part") {
                guard let number = item["PartNumber"].flatMap({ Int($0) }),
                    let bytes = item["Size"].flatMap({ Int64($0) }), let etag = item["ETag"]
                else { continue }
                parts[number] = UploadedPart(
                    number: number, bytes: bytes, etag: etag,
                    sha256: item["ChecksumSHA256"].flatMap { Self.hex(ofBase64: $0) })
            }
            guard root["IsTruncated"] == "true", let next = root["NextPartNumberMarker"],
                next != after
            else { return parts }
            after = next
        }
    }

    /// The end of an upload in parts.
    package enum Completion: Sendable, Hashable {
        /// The object is visible, whole, with this ETag.
        case done(etag: String)
        /// The key's state is another one than required. The upload stays.
        case conditionFailed
        /// The server has no such upload, or other parts: start another upload.
        case gone
    }

    /// Ends an upload: the object becomes visible, whole. If the answer is lost, or the upload is
    /// gone, an object of that length and ETag under the key counts.
    ///
    /// - Parameter parts: In order.
    package func complete(
        _ key: String, upload: String, _ parts: [UploadedPart], if condition: Condition = .none,
        isWanted: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> Completion {
        var request = endRequest(key, upload, parts, isWanted)
        if let header = condition.header {
            request.headers.append(header)
            request.accepted = [412, 501]
            request.acceptedCodes.insert("NoSuchKey")
        }
        do throws(Failure) {
            var answer = try await send(request)
            if answer.status == 501 {
                answer = try await send(endRequest(key, upload, parts, isWanted))
            }
            // A key whose ETag is required may be gone.
            let root = AnswerDocument(answer.body)?.root
            let code = root?.name == "Error" ? root?["Code"] : nil
            if answer.status == 412 || code == "NoSuchKey" { return .conditionFailed }
            if code != nil {
                return try await completed(key, parts).map { .done(etag: $0) } ?? .gone
            }
            guard root?.name == "CompleteMultipartUploadResult" else {
                throw Failure(
                    .storageUnavailable, "\(Redaction.path(key)): no result of the upload's end")
            }
            if let etag = root?["ETag"], !etag.isEmpty { return .done(etag: etag) }
            return try await completed(key, parts).map { .done(etag: $0) } ?? .gone
        } catch {
            guard error.code == .storageUnavailable, let etag = try await completed(key, parts)
            else { throw error }
            return .done(etag: etag)
        }
    }

    private func endRequest(
        _ key: String, _ upload: String, _ parts: [UploadedPart],
        _ isWanted: @escaping @Sendable () -> Bool
    ) -> S3Request {
        let items = parts.map { part in
            let checksum = part.sha256.map {
                "<ChecksumSHA256>\(Self.base64(ofHex: $0))</ChecksumSHA256>"
            }
            return "<Part><PartNumber>\(part.number)</PartNumber>"
                + "<ETag>\(Self.escaped(part.etag))</ETag>\(checksum ?? "")</Part>"
        }.joined()
        var request = S3Request("POST", key)
        request.query = [("uploadId", upload)]
        request.setBody(
            Array(
                ("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                    + "\(items)</CompleteMultipartUpload>").utf8))
        request.isWanted = isWanted
        // Servers may read all parts once more.
        request.copiedBytes = parts.reduce(0) { $0 + $1.bytes }
        request.acceptedCodes = ["NoSuchUpload", "InvalidPart", "InvalidPartOrder"]
        return request
    }

    /// Returns the ETag of the object that an upload of these parts has made; nil for none.
    private func completed(
        _ key: String, _ parts: [UploadedPart]
    ) async throws(Failure) -> String? {
        let bytes = parts.reduce(0) { $0 + $1.bytes }
        // Without it, another object of the same length could be taken for this one.
        guard let digits = Self.etag(of: parts), let head = try await head(key),
            head.bytes == bytes, let etag = head.etag,
            etag.filter({ $0 != "\"" }) == "\(digits)-\(parts.count)"
        else { return nil }
        return etag
    }

    /// Returns the digits of an object's ETag by those of its parts, as S3 and Ceph compute it: the
    /// MD5 of their MD5s; nil if they are none.
    private static func etag(of parts: [UploadedPart]) -> String? {
        var hashes: [UInt8] = []
        for part in parts {
            let digits = part.etag.utf8.filter { $0 != UInt8(ascii: "\"") }
            guard digits.count == 32 else { return nil }
            for start in stride(from: 0, to: 32, by: 2) {
                let pair = String(decoding: digits[start..<start + 2], as: UTF8.self)
                guard let byte = UInt8(pair, radix: 16) else { return nil }
                hashes.append(byte)
            }
        }
        var digests = DigestSet([.md5])
        hashes.withUnsafeBytes { digests.update($0) }
        return digests.finish().others.first?.hex
    }

    package func abort(_ key: String, upload: String) async throws(Failure) {
        var request = S3Request("DELETE", key)
        request.query = [("uploadId", upload)]
        request.accepted = [404]
        _ = try await send(request)
    }

    /// Maximum number of uploads of a listing.
    package static let listedUploads = 1_000

    /// Returns the first unfinished uploads below a prefix.
    package func uploads(prefix: String) async throws(Failure) -> [UnfinishedUpload] {
        var request = S3Request("GET", "")
        request.query = [("uploads", ""), ("prefix", prefix)]
        let answer = try await send(request)
        return (AnswerDocument(answer.body)?.root.all("Upload") ?? []).compactMap { item in
            guard let key = item["Key"], let id = item["UploadId"] else { return nil }
            return UnfinishedUpload(key: key, id: id)
        }
    }

    /// Copies an object of at most `maximumCopy` within the bucket, with its metadata, at the server.
    /// Returns false if there is no such object.
    package func copy(
        _ source: String, to key: String, bytes: Int64,
        sha256: String?, isWanted: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> Bool {
        var request = S3Request("PUT", key)
        request.headers = storageHeaders()
        request.headers += [
            ("x-amz-copy-source", copySource(source)), ("content-type", MediaType.of(key)),
            ("x-amz-metadata-directive", "REPLACE"),
        ]
        if let sha256 { request.headers.append(("x-amz-meta-dray-sha256", sha256)) }
        request.accepted = [404]
        request.isWanted = isWanted
        request.copiedBytes = bytes
        let answer = try await send(request)
        guard answer.status != 404 else { return false }
        guard let root = AnswerDocument(answer.body)?.root, root.name == "CopyObjectResult",
            root["ETag"] != nil
        else {
            throw Failure(.storageNotS3, "\(bucket.endpointURL): no result of a copy")
        }
        return true
    }

    private func copySource(_ key: String) -> String {
        "/\(bucket.bucket)/" + RequestSignature.encoded(key, keepsSlashes: true)
    }

    /// Copies an object in parts of an upload, and completes it. Returns false if there is no such
    /// object.
    package func copyParts(
        _ source: String, to key: String, bytes: Int64, partBytes: Int64, upload: String,
        isWanted: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> Bool {
        var parts: [UploadedPart] = []
        for (index, start) in stride(from: 0, to: bytes, by: Int(partBytes)).enumerated() {
            let end = min(start + partBytes, bytes)
            var request = S3Request("PUT", key)
            request.query = [("partNumber", "\(index + 1)"), ("uploadId", upload)]
            request.headers = [
                ("x-amz-copy-source", copySource(source)),
                ("x-amz-copy-source-range", "bytes=\(start)-\(end - 1)"),
            ]
            request.copiedBytes = end - start
            // Ceph's gateway wants a length.
            request.body = UploadBody([])
            request.accepted = [404]
            request.isWanted = isWanted
            let answer = try await send(request)
            guard let etag = AnswerDocument(answer.body)?.root["ETag"] else { return false }
            parts.append(UploadedPart(number: index + 1, bytes: end - start, etag: etag))
        }
        guard case .done = try await complete(key, upload: upload, parts, isWanted: isWanted) else {
            throw Failure(.storageUnavailable, "the copy of \(Redaction.path(key)) was aborted")
        }
        return true
    }

    /// S3 copies no larger object with one request.
    package static let maximumCopy: Int64 = 5 << 30
}

extension S3Request {
    /// Sets a small body and its hash.
    mutating func setBody(_ content: [UInt8]) {
        body = UploadBody(content)
        bodyHash = SHA256Digest(hashing: content).description
        headers.append(("x-amz-checksum-sha256", S3Client.base64(ofHex: bodyHash)))
    }
}
