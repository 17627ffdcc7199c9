package import CommandLine
import Glibc
import Model
import Synchronization
import Text

/// Severity of a line; `DRAY_LOG` sets the lowest one that is written.
package enum LogLevel: Int, CaseIterable, Comparable, Sendable {
    case debug, info, warning, error

    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Writes structured lines: a static message and key=value metadata.
///
/// The message is the same for each occurrence, so that lines can be counted and searched; variable
/// parts go into the metadata, where URLs lose what may be a secret. A line of a task with a
/// `TraceContext` ends with `trace_id` and `span_id`.
package struct Logger: Sendable {
    /// The part of Dray that logs: `coordinator`, `worker`.
    package let component: String
    /// Metadata of every line.
    package var fields: [(String, String)] = []

    package init(_ component: String) { self.component = component }

    /// Returns a logger whose lines also have `value` under `key`.
    package func with(_ key: String, _ value: some CustomStringConvertible) -> Logger {
        var copy = self
        copy.fields.append((key, value.description))
        return copy
    }

    package typealias Metadata = KeyValuePairs<String, any CustomStringConvertible>

    package func debug(_ message: StaticString, _ metadata: @autoclosure () -> Metadata = [:]) {
        write(.debug, message, metadata)
    }

    package func info(_ message: StaticString, _ metadata: @autoclosure () -> Metadata = [:]) {
        write(.info, message, metadata)
    }

    package func warning(_ message: StaticString, _ metadata: @autoclosure () -> Metadata = [:]) {
        write(.warning, message, metadata)
    }

    package func error(_ message: StaticString, _ metadata: @autoclosure () -> Metadata = [:]) {
        write(.error, message, metadata)
    }

    private func write(_ level: LogLevel, _ message: StaticString, _ metadata: () -> Metadata) {
        let options = LogOutput.options.withLock { $0 }
        guard options.levels.writes(level, of: component) else { return }
        var line = LogLine(
            timestamp: timestamp(ofSeconds: SystemWallClock().nowSeconds), level: level,
            component: component, message: message.description,
            metadata: (fields + metadata().map { ($0.key, $0.value.description) }).map {
                ($0.0, Redaction.message($0.1))
            })
        if let trace = TraceContext.current {
            line.metadata += [("trace_id", trace.traceID), ("span_id", trace.spanID)]
        }
        LogOutput.write((options.isJSON ? line.json : line.text) + "\n")
    }
}

/// Destination and format of log lines; process-wide, set once when the process starts.
package enum LogOutput {
    struct Options {
        var levels = LogLevels(.info)
        var isJSON = false
    }

    static let options = Mutex(Options())
    private static let sink = Mutex<(@Sendable (String) -> Void)?>(nil)

    /// Reads `DRAY_LOG` (`info`, or with levels of components `info,queue=debug`) and
    /// `DRAY_LOG_FORMAT` (text, json).
    ///
    /// Throws a `UsageError` with the variable and its allowed values.
    package static func configure(
        environment: [String: String], defaultLevel: LogLevel
    ) throws(UsageError) {
        var new = Options(levels: LogLevels(defaultLevel))
        if let name = environment["DRAY_LOG"], !name.isEmpty {
            guard let levels = LogLevels(name, standard: defaultLevel) else {
                throw UsageError(
                    "DRAY_LOG is '\(printable(name))'",
                    hint: "Use debug, info, warning or error; for one component, queue=debug; "
                        + "separate several by commas.")
            }
            new.levels = levels
        }
        if let format = environment["DRAY_LOG_FORMAT"], !format.isEmpty {
            guard format == "json" || format == "text" else {
                throw UsageError(
                    "DRAY_LOG_FORMAT is '\(printable(format))'", hint: "Use text or json.")
            }
            new.isJSON = format == "json"
        }
        options.withLock { $0 = new }
    }

    /// Changes the levels while the process runs.
    package static func set(_ levels: LogLevels) { options.withLock { $0.levels = levels } }

    /// Sends the lines to `newSink` instead of stderr; nil restores stderr.
    ///
    /// Used by live displays, which print each line above their own.
    package static func redirect(to newSink: (@Sendable (String) -> Void)?) {
        sink.withLock { $0 = newSink }
    }

    static func write(_ line: String) {
        if let redirected = sink.withLock({ $0 }) {
            redirected(line)
        } else {
            writeAll(line, to: STDERR_FILENO)
        }
    }
}

/// Writes the complete `text` to a file descriptor; returns the errno value of a failure. Callers
/// ignore that of stderr, for there is nowhere to report it.
@discardableResult
package func writeAll(_ text: String, to descriptor: Int32) -> Int32? {
    var text = text
    return text.withUTF8 { bytes in
        var offset = 0
        while offset < bytes.count {
            let count = write(
                descriptor, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
            if count > 0 {
                offset += count
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, 1_000)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}

/// A line before it is written, in either format.
struct LogLine {
    let timestamp: String
    let level: LogLevel
    let component: String
    let message: String
    var metadata: [(String, String)]

    /// Text form: `2026-03-01T12:00:00.250Z info worker: lease granted jobs=32 name="edge 1"`.
    var text: String {
        var line = "\(timestamp) \(level.name) \(component): \(printable(message))"
        for (key, value) in metadata { line += " \(printable(key))=\(Self.quoted(value))" }
        return line
    }

    /// JSON form: an object with time, level, component, message, then the metadata as strings.
    var json: String {
        var fields = [
            ("time", timestamp), ("level", level.name), ("component", component),
            ("message", message),
        ]
        for (key, value) in metadata {
            // A repeated key would make the object ambiguous; the standard names take precedence.
            let isTaken = fields.contains { $0.0 == key }
            fields.append((isTaken ? "\(key)_" : key, value))
        }
        let members = fields.map { "\(Self.jsonString($0.0)):\(Self.jsonString($0.1))" }
        return "{" + members.joined(separator: ",") + "}"
    }

    /// Returns `value` unchanged if it is one plain word, or else in quotation marks.
    private static func quoted(_ value: String) -> String {
        let isPlain =
            !value.isEmpty
            && value.unicodeScalars.allSatisfy {
                !$0.properties.isWhitespace && $0 != "\"" && $0 != "\\" && $0 != "="
                    && !isControlCharacter($0)
            }
        return isPlain ? value : jsonString(value)
    }

    static func jsonString(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case _ where isControlCharacter(scalar):
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
