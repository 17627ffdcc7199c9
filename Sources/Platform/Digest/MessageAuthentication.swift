extension SHA256Digest {
    /// Creates the HMAC-SHA256 of a message (RFC 2104).
    package init(authenticating message: [UInt8], key: [UInt8]) {
        var block = key
        if block.count > Self.blockBytes {
            block = SHA256Digest(hashing: block).withUnsafeBytes { Array($0) }
        }
        block += [UInt8](repeating: 0, count: Self.blockBytes - block.count)
        let inner = SHA256Digest(hashing: block.map { $0 ^ 0x36 } + message)
        self.init(hashing: block.map { $0 ^ 0x5C } + inner.withUnsafeBytes { Array($0) })
    }

    /// Bytes that SHA-256 takes at a time.
    private static let blockBytes = 64
}
