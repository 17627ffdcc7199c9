import FileSystem
import FoundationEssentials
package import Model
import Services
import Text

/// A file of JSON, an object a line, each there as soon as it is appended. Safe from any thread.
package final class LineFile: Sendable {
    private let file: FileDescriptor

    /// Makes the file at `path`, or empties it. Throws `input.destination` when that cannot be.
    package init(_ path: String) throws(Failure) {
        do throws(OutputFileError) {
            file = try OutputFile.emptied(path)
        } catch {
            throw Failure("input.destination", "cannot write \(printable(path)): \(error.reason)")
        }
    }

    package func append(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(value) else { return }
        writeAll(String(decoding: line, as: UTF8.self) + "\n", to: file.rawValue)
    }
}
