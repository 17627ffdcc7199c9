import FileSystem
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
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try readToEnd(descriptor, maximumBytes: maximumBytes)
        } catch {
            throw Failure(.inputUnreadable, "\(printable(path)): \(error.reason)")
        }
        guard let bytes else {
            throw Failure(
                .inputTooLarge, "\(printable(path)) is larger than \(maximumBytes) bytes")
        }
        return (bytes, status)
    }
}
