import Model

/// A message of a stream of server-sent events.
struct EventStreamMessage: Sendable, Equatable {
    /// The last id of the stream so far; nil before the first.
    var id: String?
    /// Empty without a name.
    var name: String
    /// Nil for a message that only sets the id.
    var data: [UInt8]?
}

/// Reads a stream of server-sent events, in whatever pieces it arrives (HTML standard, 9.2.6).
struct EventStreamReader {
    /// Maximum bytes of a message's lines; the longest event is far below.
    static let maximumBytes = 256 << 10

    private var line: [UInt8] = []
    private var id: String?
    private var name = ""
    private var data: [UInt8]?
    private var hasNewID = false
    private var isAfterReturn = false

    /// Returns the messages that the bytes complete. Throws `cluster.protocol` for one that is too
    /// long.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer
    ) throws(Failure) -> [EventStreamMessage] {
        var messages: [EventStreamMessage] = []
        for byte in bytes {
            defer { isAfterReturn = byte == UInt8(ascii: "\r") }
            switch byte {
            case UInt8(ascii: "\n") where isAfterReturn: continue
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if let message = endLine() { messages.append(message) }
            default: line.append(byte)
            }
            guard line.count + (data?.count ?? 0) <= Self.maximumBytes else {
                throw Failure(
                    .clusterProtocol, "an event of more than \(Self.maximumBytes) bytes")
            }
        }
        return messages
    }

    /// Takes a line; an empty one ends a message.
    private mutating func endLine() -> EventStreamMessage? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return endMessage() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        var value = line[min(colon + 1, line.count)...]
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "id":
            id = String(decoding: value, as: UTF8.self)
            hasNewID = true
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data": data = (data.map { $0 + [UInt8(ascii: "\n")] } ?? []) + value
        // A comment, or a field that this reader does not need.
        default: break
        }
        return nil
    }

    private mutating func endMessage() -> EventStreamMessage? {
        defer {
            name = ""
            data = nil
            hasNewID = false
        }
        guard data != nil || hasNewID else { return nil }
        return EventStreamMessage(id: id, name: name, data: data)
    }
}
