package import Model

extension DirectoryStorage {
    /// Writes a small generated file, `SHA256SUMS` for one, so that a reader sees the old one or the
    /// whole new one.
    ///
    /// - Parameters:
    ///   - lease, job: name the temporary file.
    ///   - chunks: the contents, in order.
    ///   - isOurs: as `commit` asks it.
    package func writeDocument(
        key: String, lease: LeaseID, job: JobID, chunks: some Sequence<[UInt8]>,
        isOurs: @escaping () -> Bool = { true }
    ) throws(Failure) {
        let object = try createTemporary(lease: lease, job: job, key: key)
        var offset: Int64 = 0
        for chunk in chunks {
            let end = offset + Int64(chunk.count)
            try chunk.withUnsafeBufferPointer { (bytes) throws(Failure) in
                try object.write(UnsafeRawBufferPointer(bytes), at: offset)
            }
            offset = end
        }
        for result in commit([object], isOurs: { _ in isOurs() }) { try result.get() }
    }
}
