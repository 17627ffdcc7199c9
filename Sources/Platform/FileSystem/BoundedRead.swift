internal import Glibc

/// Reads a descriptor from its position to its end. Returns nil if there are more than `maximumBytes`.
package func readToEnd(
    _ descriptor: Int32, maximumBytes: Int
) throws(SystemError) -> [UInt8]? {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: min(maximumBytes + 1, 64 << 10))
    while bytes.count <= maximumBytes {
        let count = try retrying("read") { read(descriptor, &block, block.count) }
        if count == 0 { return bytes }
        bytes += block[..<count]
    }
    return nil
}
