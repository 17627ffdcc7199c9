internal import Model
internal import S3

// The beginning of uploads. A worker may be killed, or lose the answer, between the request that
// begins an upload and the record that names it, and S3 keeps no mark of Dray's with an upload. So
// another record comes first, with the uploads that the key has already.
extension S3Storage {
    /// Begins an upload and records it at `recordKey`; returns its number.
    ///
    /// - Parameters:
    ///   - record: In any state.
    ///   - sha256: The whole's, kept as metadata; nil if unknown.
    func begin(
        _ record: UploadRecord, at recordKey: String, sha256: String?,
        isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> String {
        var record = record
        if let others = try await uploads(of: record.key) {
            record.state = .beginning(others: Set(others.map { RequestSignature.encoded($0) }))
            try await putRecord(recordKey, record.content, isOurs)
        }
        let id = try await begin(record, sha256, isOurs)
        record.state = .begun(id: id)
        do throws(Failure) {
            try await putRecord(recordKey, record.content, isOurs)
        } catch {
            try? await client.abort(record.key, upload: id)
            throw error
        }
        return id
    }

    /// Begins an upload; one whose answer is lost is aborted before another one begins.
    private func begin(
        _ record: UploadRecord, _ sha256: String?, _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> String {
        for attempt in 1... {
            do throws(Failure) {
                return try await client.beginUpload(
                    record.key, sha256: sha256, tries: 1, isWanted: isOurs)
            } catch {
                guard [.storageUnavailable, .storageSlowDown].contains(error.code),
                    attempt < S3Request.tries
                else { throw error }
            }
            try? await Task.sleep(for: .milliseconds(100 << attempt))
            if isOurs() { try? await abort(record) }
        }
        preconditionFailure("the loop ends by its last try")
    }

    /// Returns the numbers of the uploads of a key; nil if the server does not list all of them.
    private func uploads(of key: String) async throws(Failure) -> [String]? {
        do throws(Failure) {
            let listed = try await client.uploads(prefix: key)
            guard listed.count < S3Client.listedUploads else { return nil }
            return listed.filter { $0.key == key }.map(\.id)
        } catch {
            // A right of its own, which other requests do not need.
            guard error.code == .storageAccessDenied else { throw error }
            return nil
        }
    }

    /// Aborts the upload of a record; of one that was about to begin, what the key has since and is
    /// without a part: an upload of Dray gets its first one after its record.
    func abort(_ record: UploadRecord) async throws(Failure) {
        switch record.state {
        case .begun(let id): try await client.abort(record.key, upload: id)
        case .beginning(let others):
            for id in try await uploads(of: record.key) ?? []
            where !others.contains(RequestSignature.encoded(id)) {
                guard let parts = try await client.parts(of: record.key, upload: id),
                    parts.isEmpty
                else { continue }
                try await client.abort(record.key, upload: id)
            }
        }
    }

    // MARK: Copies

    /// Copies an object within the bucket, with its metadata, at the server. Returns false if there
    /// is no such object.
    ///
    /// - Parameters:
    ///   - largest: Bytes of the largest object that is copied with one request.
    ///   - partBytes: Bytes of the parts in which larger ones are copied.
    func copy(
        _ source: String, to key: String, bytes: Int64, sha256: String?,
        by owner: UploadRecord.Owner, largest: Int64 = S3Client.maximumCopy,
        partBytes: Int64 = 1 << 30, isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> Bool {
        guard bytes > largest else {
            return try await client.copy(
                source, to: key, bytes: bytes, sha256: sha256, isWanted: isOurs)
        }
        let recordKey =
            switch owner {
            case .lease: recordKey(of: key)
            case .multipart(let id): recordKey(of: id)
            }
        let wanted = UploadRecord(
            .beginning(others: []), key: key, bytes: bytes, partBytes: partBytes, owner: owner)
        if let content = try await client.getSmall(recordKey),
            let record = UploadRecord(content), record.key == key
        {
            try? await abort(record)
        }
        let upload = try await begin(wanted, at: recordKey, sha256: sha256, isOurs: isOurs)
        do throws(Failure) {
            let isCopied = try await client.copyParts(
                source, to: key, bytes: bytes, partBytes: partBytes, upload: upload,
                isWanted: isOurs)
            if !isCopied { try await client.abort(key, upload: upload) }
            try? await client.delete([recordKey])
            return isCopied
        } catch {
            try? await client.abort(key, upload: upload)
            throw error
        }
    }
}
