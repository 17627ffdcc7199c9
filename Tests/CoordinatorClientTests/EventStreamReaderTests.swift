import Model
import Testing

@testable import CoordinatorClient

/// Server-sent events, in whatever pieces they arrive.
@Suite struct EventStreamReaderTests {
    private static func read(
        _ text: String, pieces size: Int = .max
    ) throws -> [EventStreamMessage] {
        var reader = EventStreamReader()
        var messages: [EventStreamMessage] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            messages += try Array(rest.prefix(size)).withUnsafeBytes { try reader.read($0) }
            rest = rest.dropFirst(size)
        }
        return messages
    }

    private static func message(
        _ id: String?, _ name: String, _ data: String?
    ) -> EventStreamMessage {
        EventStreamMessage(id: id, name: name, data: data.map { Array($0.utf8) })
    }

    @Test func messagesAreReadFromAnyPieces() throws {
        let text = """
            retry: 2000\nid: 1-0\n\n: keep-alive\n\nid: 1-1\nevent: asset.failed\ndata: {"a":1}\n\n\
            data: one\ndata:two\n\n: keep-alive\nid: 1-5\n\nevent: failure\ndata: {}\n\nevent: half
            """
        let expected = [
            Self.message("1-0", "", nil), Self.message("1-1", "asset.failed", "{\"a\":1}"),
            Self.message("1-1", "", "one\ntwo"), Self.message("1-5", "", nil),
            Self.message("1-5", "failure", "{}"),
        ]
        for ending in ["\n", "\r\n", "\r"] {
            let text = text.replacing("\n", with: ending)
            for size in [1, 2, 3, 7, .max] {
                #expect(try Self.read(text, pieces: size) == expected, "\(ending.debugDescription)")
            }
        }
    }

    @Test func aMessageIsBounded() {
        let long = String(repeating: "x", count: EventStreamReader.maximumBytes)
        #expect(throws: Failure.self) { try Self.read("data: \(long)") }
        #expect(throws: Failure.self) {
            try Self.read(String(repeating: "data: \(long.prefix(1_000))\n", count: 1_000))
        }
    }
}
