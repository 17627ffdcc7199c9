internal import CZlib

/// Why data is not decoded further; one clause.
package struct GzipError: Error, Hashable, Sendable {
    package var detail: String
}

/// Decodes gzip (RFC 1952) as it comes, of one member or of several one after the other, by zlib.
/// Used by one thread at a time; after an error it is done.
package final class GzipDecoder {
    /// Bytes handed out at once at most.
    package static let pieceBytes = 256 << 10

    /// How gzip begins.
    package static let magic: [UInt8] = [0x1F, 0x8B]

    /// zlib wants it to stay where it is.
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

    /// Decodes from the start of `input`, which moves on; empty when that is used up.
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
            // zlib goes on as long as it has something to read.
            guard taken > 0 else { throw GzipError(detail: message) }
        }
        return []
    }

    private var message: String {
        stream.pointee.msg.map { String(cString: $0) } ?? "it is not gzip"
    }

    /// The end of the data; throws when that is within a member.
    package func finish() throws(GzipError) {
        guard hasBegun, isMemberOver else {
            throw GzipError(detail: "it ends before its data is whole")
        }
    }
}
