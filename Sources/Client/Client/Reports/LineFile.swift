import FileSystem
import FoundationEssentials
package import Model
import Services
import Text

/// A file with one JSON object per line, each written when it is appended. Safe from any thread.
package final class LineFile: Sendable {
    private let file: FileDescriptor

    /// Creates or empties the file at `path`. Throws `input.destination` if that fails.
    package init(_ path: String) throws(Failure) {
        do throws(OutputFileError) {
            file = try OutputFile.emptied(path)
        } catch {
            throw Failure(.inputDestination, "cannot write \(printable(path)): \(error.reason)")
        }
    }

    package func append(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(value) else { return }
        writeAll(String(decoding: line, as: UTF8.self) + "\n", to: file.rawValue)
    }
}
