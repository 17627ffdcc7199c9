internal import CZlib

/// A decoding failure; one clause.
package struct GzipError: Error, Hashable, Sendable {
    package var detail: String
}

/// Decodes gzip (RFC 1952) as it arrives, with one or more consecutive members, by zlib. Used by
/// one thread at a time; not usable after an error.
package final class GzipDecoder {
    /// Maximum bytes returned at once.
    package static let pieceBytes = 256 << 10

    /// First bytes of gzip data.
    package static let magic: [UInt8] = [0x1F, 0x8B]

    /// At a fixed address, as zlib requires.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isMemberOver = false
    private var hasBegun = false

    package init() throws(GzipError) {
        stream.initialize(to: z_stream())
        guard dray_inflate_init_gzip(stream) == Z_OK else {
            stream.deallocate()
            throw GzipError(detail: "no memory to decode it")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decodes from the start of `input` and removes what it has read; returns an empty array once
    /// that is used up.
    package func next(_ input: inout ArraySlice<UInt8>) throws(GzipError) -> [UInt8] {
        while !input.isEmpty {
            if isMemberOver {
                isMemberOver = false
                inflateReset(stream)
            }
            hasBegun = true
            var code = Z_OK
            var taken = 0
            let output = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { output, count in
                input.withUnsafeBufferPointer { bytes in
                    // zlib reads from it only.
                    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
                    stream.pointee.avail_in = UInt32(clamping: bytes.count)
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = UInt32(output.count)
                    let given = Int(stream.pointee.avail_in)
                    code = inflate(stream, Z_NO_FLUSH)
                    taken = given - Int(stream.pointee.avail_in)
                    count = output.count - Int(stream.pointee.avail_out)
                }
            }
            input = input.dropFirst(taken)
            switch code {
            case Z_OK: break
            case Z_STREAM_END: isMemberOver = true
            default: throw GzipError(detail: message)
            }
            if !output.isEmpty { return output }
            // zlib makes progress as long as it has input.
            guard taken > 0 else { throw GzipError(detail: message) }
        }
        return []
    }

    private var message: String {
        stream.pointee.msg.map { String(cString: $0) } ?? "it is not gzip"
    }

    /// Checks that the data may end here; throws within a member.
    package func finish() throws(GzipError) {
        guard hasBegun, isMemberOver else {
            throw GzipError(detail: "it ends before its data is whole")
        }
    }
}
