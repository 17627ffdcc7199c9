import API
import JobQueue
import Model

/// Messages of a stream of server-sent events (HTML standard, 9.2).
enum EventText {
    /// The first message: the position, and the time after which a lost connection is opened again.
    static func opening(_ cursor: EventCursor) -> [UInt8] {
        Array("retry: 2000\nid: \(cursor)\n\n".utf8)
    }

    static func message(_ event: ClusterEvent) -> [UInt8] {
        text(id: event.id, kind: event.kind.rawValue, event)
    }

    /// The last message of a stream that ends for a reason.
    static func failure(_ failure: Failure) -> [UInt8] {
        text(
            id: nil, kind: "failure",
            ErrorAnswer(failure, status: FailureAnswer.status(of: failure.code)))
    }

    /// A comment, and the position if there is one.
    static func keepAlive(_ cursor: EventCursor?) -> [UInt8] {
        Array((": keep-alive\n" + (cursor.map { "id: \($0)\n" } ?? "") + "\n").utf8)
    }

    /// JSON has no line ends, so that it is one line of data.
    private static func text(id: String?, kind: String, _ value: some Encodable) -> [UInt8] {
        guard let data = try? WireJSON.encode(value) else { return [] }
        var bytes: [UInt8] = []
        if let id { bytes += "id: \(id)\n".utf8 }
        bytes += "event: \(kind)\ndata: ".utf8
        bytes += data
        bytes += "\n\n".utf8
        return bytes
    }
}
