extension PostgresConnection {
    /// Runs COPY … FROM STDIN in text format; returns the number of stored rows.
    ///
    /// `produce` fills the encoder with whole rows, about `CopyEncoder.batchByteCount` at a time,
    /// and returns false at the end. It is called again when the socket has taken the batch. If it
    /// throws, the COPY is aborted and nothing is stored.
    @discardableResult
    package func copyIn(
        _ sql: String, isolation: isolated (any Actor)? = #isolation,
        _ produce: (inout CopyEncoder) async throws -> Bool
    ) async throws -> Int {
        try await beginCopy(sql)
        do {
            var encoder = CopyEncoder()
            var isMore = true
            while isMore {
                isMore = try await produce(&encoder)
                if encoder.byteCount > 0 { try await sendCopy(encoder.bytes) }
                encoder.removeAll()
            }
        } catch {
            _ = try? await endCopy(aborting: "aborted by the client")
            throw error
        }
        return try await endCopy(aborting: nil)
    }

    /// Runs COPY … FROM STDIN with a row of each element. `encode` appends its fields in the order
    /// of the statement's columns.
    @discardableResult
    package func copyIn<Rows: Sequence>(
        _ sql: String, isolation: isolated (any Actor)? = #isolation, rows: Rows,
        _ encode: (inout CopyEncoder, Rows.Element) throws -> Void
    ) async throws -> Int {
        var iterator = rows.makeIterator()
        return try await copyIn(sql) { encoder in
            while encoder.byteCount < CopyEncoder.batchByteCount {
                guard let row = iterator.next() else { return false }
                try encode(&encoder, row)
                encoder.endRow()
            }
            return true
        }
    }
}
