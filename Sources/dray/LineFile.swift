import FoundationEssentials
import Glibc
import Model
import Runtime

/// A file of JSON, an object a line, each there as soon as it is appended. Safe from any thread.
final class LineFile: Sendable {
    private let descriptor: Int32

    /// Makes the file at `path`, or empties it. Throws `input.destination` when that cannot be.
    init(_ path: String) throws(Failure) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw Failure("input.destination", "cannot write \(path): \(systemErrorText(errno))")
        }
    }

    deinit { close(descriptor) }

    func append(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(value) else { return }
        writeAll(String(decoding: line, as: UTF8.self) + "\n", to: descriptor)
    }
}
