package import Glibc
package import Model
import Services
import Text

/// Reads small files completely: settings, measurements.
package enum SmallFile {
    package static let maximumBytes = 4 << 20

    /// Returns the bytes and the status of the file at `path`; `-` is stdin. Throws
    /// `input.unreadable`, or `input.tooLarge` beyond `maximumBytes`.
    package static func read(
        _ path: String, maximumBytes: Int = Self.maximumBytes
    ) throws(Failure) -> ([UInt8], stat) {
        let isInput = path == "-"
        let descriptor = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure(.inputUnreadable, "\(printable(path)): \(systemErrorText(errno))")
        }
        defer { if !isInput { close(descriptor) } }
        var status = stat()
        fstat(descriptor, &status)
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &block, block.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw Failure(.inputUnreadable, "\(printable(path)): \(systemErrorText(errno))")
            }
            if count == 0 { return (bytes, status) }
            bytes += block[..<count]
            guard bytes.count <= maximumBytes else {
                throw Failure(
                    .inputTooLarge, "\(printable(path)) is larger than \(maximumBytes) bytes")
            }
        }
    }
}
