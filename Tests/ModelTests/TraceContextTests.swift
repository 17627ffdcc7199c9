import Model
import Testing

/// W3C Trace Context, 3.2.
@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test func aHeaderIsReadAndWritten() throws {
        let text = "00-\(Self.trace)-\(Self.span)-01"
        let context = try #require(TraceContext(text))
        #expect(context.traceID == Self.trace && context.spanID == Self.span)
        #expect(context.header == text)
        let child = context.child
        #expect(child.traceID == Self.trace && child.spanID != Self.span)
        #expect(child.header.hasSuffix("-01") && TraceContext(child.header) == child)
    }

    @Test func newOnesDifferAndAreValid() throws {
        let all = (0..<100).map { _ in TraceContext.random() }
        #expect(Set(all.map(\.traceID)).count == 100)
        for context in all { #expect(TraceContext(context.header) == context) }
    }

    /// A later version is read as far as it is known.
    @Test(arguments: ["cc-\(trace)-\(span)-01", "01-\(trace)-\(span)-09-what.the.future-has"])
    func aLaterVersionIsRead(_ text: String) throws {
        let context = try #require(TraceContext(text))
        #expect(context.traceID == Self.trace && context.header.hasPrefix("00-"))
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-", "00-\(trace)-\(span)-0",
        "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01-more", "00-\(trace)-\(span)-011",
        "ff-\(trace)-\(span)-01", "0x-\(trace)-\(span)-01", "00-\(trace.uppercased())-\(span)-01",
        "00-\(String(repeating: "0", count: 32))-\(span)-01",
        "00-\(trace)-\(String(repeating: "0", count: 16))-01", "00_\(trace)-\(span)-01",
        "00-\(trace)\(span)--01", "cc-\(trace)-\(span)-01.more", " 00-\(trace)-\(span)-01",
        "00-\(trace)-\(span)-01 ", "00-\(trace)-\(span)-0g",
        "01-\(trace)-\(span)-01-" + String(repeating: "a", count: 600),
        "00-4bf92f3577b34da6a3ce929d0e0e473é-\(span)-01",
    ])
    func anythingElseIsNot(_ text: String) {
        #expect(TraceContext(text) == nil)
    }
}
