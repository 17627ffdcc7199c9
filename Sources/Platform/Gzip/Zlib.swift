internal import CZlib

/// zlib streams (RFC 1950) in memory. Safe from any thread.
package enum Zlib {
    /// Compresses at zlib's default level.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var length = compressBound(UInt(bytes.count))
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { output, count in
            // The output buffer fits the worst case, so only a lack of memory can fail.
            let code = compress2(
                output.baseAddress, &length, bytes, UInt(bytes.count), Z_DEFAULT_COMPRESSION)
            precondition(code == Z_OK, "no memory to compress \(bytes.count) bytes")
            count = Int(length)
        }
    }

    /// Returns the stream's content, `atMost` bytes; throws if it is longer, or the stream is
    /// damaged.
    package static func decompressed(
        _ bytes: [UInt8], atMost most: Int
    ) throws(GzipError) -> [UInt8] {
        var room = min(max(bytes.count * 8, 4_096), most)
        while true {
            var length = UInt(room)
            var code = Z_OK
            let output = [UInt8](unsafeUninitializedCapacity: room) { output, count in
                code = uncompress(output.baseAddress, &length, bytes, UInt(bytes.count))
                count = code == Z_OK ? Int(length) : 0
            }
            switch code {
            case Z_OK: return output
            case Z_BUF_ERROR where room < most: room = min(room * 4, most)
            case Z_BUF_ERROR: throw GzipError(detail: "it ends early or is too long")
            default: throw GzipError(detail: "it is damaged")
            }
        }
    }
}

/// gzip data (RFC 1952) in memory. Safe from any thread.
package enum Gzip {
    /// Compresses `bytes` as one member, without a name or a time.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        var code = dray_deflate_init_gzip(&stream)
        precondition(code == Z_OK, "no memory to compress")
        defer { deflateEnd(&stream) }
        let bound = Int(deflateBound(&stream, UInt(bytes.count)))
        return [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            bytes.withUnsafeBufferPointer { input in
                // zlib reads from it only.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                // The output buffer fits the worst case.
                code = deflate(&stream, Z_FINISH)
                precondition(code == Z_STREAM_END, "zlib does not end")
                count = output.count - Int(stream.avail_out)
            }
        }
    }
}
