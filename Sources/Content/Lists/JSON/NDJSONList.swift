import JSON
import Model
import Text

/// JSON with one asset per line, as described in `JSONAsset`.
final class NDJSONList: ListDecoder {
    private var lines = LineSplitter(maxBytes: JSONList.valueBytes)

    var format: ListFormat? { .ndjson }
    var line: Int { lines.number }

    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure) {
        var start = 0
        while let line = try lines.next(bytes, &start) { try take(line, output) }
    }

    func finish(_ output: ListOutput) throws(Failure) {
        if let line = try lines.last() { try take(line, output) }
    }

    private func take(_ line: LineSplitter.Line, _ output: ListOutput) throws(Failure) {
        let range = ASCII.trimmed(line.bytes, line.range)
        guard !range.isEmpty else { return }
        let column = range.lowerBound - line.range.lowerBound + 1
        var cursor = JSONCursor(
            Array(line.bytes[range]), at: TextPosition(line: line.number, column: column))
        do throws(Failure) {
            let asset = try JSONAsset.read(&cursor, "", output.rules)
            try cursor.finish()
            try output.add(asset, line: line.number)
        } catch {
            try output.reject(error)
        }
    }
}
