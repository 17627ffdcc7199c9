package import Model

extension DirectoryStorage {
    /// Writes a small generated file, such as `SHA256SUMS`, so that a reader sees either the old
    /// one or the whole new one.
    ///
    /// - Parameters:
    /// - lease, job: Name the temporary file.
    /// - chunks: The contents, in order.
    /// - isOurs: As for `commit`.
    package func writeGeneratedFile(
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
