import Model
import Testing

@testable import JobQueue

/// The MPD of a recording is composed of what is stored.
@Suite struct RecordedMPDTests {
    private static let root = [
        RecordedPiece(text: "<MPD type=\"static\" length=\"", value: .duration),
        RecordedPiece(text: "\">", value: .periods), RecordedPiece(text: "</MPD>"),
    ]

    /// A period with a set for each of its tracks.
    private static func period(
        _ number: Int, start: Int64, _ tracks: [RecordedPeriod.Track]
    ) -> RecordedPeriod {
        var pieces = [
            RecordedPiece(text: "<P start=\"", value: .start), RecordedPiece(text: "\">"),
        ]
        for (set, track) in tracks.enumerated() {
            pieces.append(RecordedPiece(text: "<A>", set: set))
            func add(_ text: String, _ value: RecordedPiece.Value? = nil) {
                pieces.append(
                    RecordedPiece(text: text, set: set, track: track.number, value: value))
            }
            add("<T offset=\"", .offset)
            if track.isNumbered { add("\" first=\"", .number) }
            add("\">", .timeline)
            add("</T>")
            pieces.append(RecordedPiece(text: "</A>", set: set))
        }
        pieces.append(RecordedPiece(text: "</P>"))
        return RecordedPeriod(
            number: number, start: start, prefix: "", tracks: tracks, pieces: pieces)
    }

    private static func text(
        _ periods: [RecordedPeriod], _ runs: [Int: [RecordedMPD.Run]]
    ) throws -> String {
        let text = try RecordedMPD.lines(root, Array(periods.prefix(1)))
        let later = try RecordedMPD.lines(nil, Array(periods.dropFirst()))
        return try RecordedMPD(text + later).text(runs)
    }

    private static func times(_ text: String) -> [(position: Int64, times: RecordedTimes)] {
        text.split(separator: ",").map { part in
            let numbers = part.split(separator: " ").compactMap { Int64($0) }
            return (numbers[0], RecordedTimes(time: numbers[1], duration: numbers[2]))
        }
    }

    @Test func equalSegmentsAreOneRun() {
        let runs = RecordedMPD.runs(
            Self.times("5 10 2,6 12 2,7 14 3,9 20 3,10 23 3"), isNumbered: true)
        #expect(
            runs == [
                .init(time: 10, duration: 2, number: 5, count: 2),
                .init(time: 14, duration: 3, number: 7, count: 1),
                .init(time: 20, duration: 3, number: 9, count: 2),
            ])
        // Times without a hole, and numbers with one.
        let numbers = RecordedMPD.runs(Self.times("1 0 2,3 2 2"), isNumbered: true)
        #expect(numbers.map(\.number) == [1, 3])
        let plain = RecordedMPD.runs(Self.times("0 0 2,2 2 2"), isNumbered: false)
        #expect(plain == [.init(time: 0, duration: 2, number: 0, count: 2)])
    }

    @Test func aGapIsAHoleInTheTimeline() throws {
        let track = RecordedPeriod.Track(number: 0, timescale: 10, offset: 7, isNumbered: true)
        let runs = RecordedMPD.runs(
            Self.times("5 407 40,6 447 40,9 567 40,10 607 20"), isNumbered: true)
        let text = try Self.text([Self.period(0, start: 60_000_000_000, [track])], [0: runs])
        // It begins with the first segment, 40 seconds after its period.
        #expect(
            text == "<MPD type=\"static\" length=\"PT22S\"><P start=\"PT0S\"><A>"
                + "<T offset=\"407\" first=\"5\"><S t=\"407\" d=\"40\" r=\"1\"/>"
                + "<S t=\"567\" n=\"9\" d=\"40\"/><S d=\"20\"/></T></A></P></MPD>")
    }

    @Test func whatIsNotStoredIsLeftOut() throws {
        let tracks = (0..<5).map {
            RecordedPeriod.Track(number: $0, timescale: 1, offset: 0, isNumbered: false)
        }
        let periods = [
            Self.period(0, start: 0, [tracks[0]]),
            Self.period(1, start: 10_000_000_000, [tracks[1], tracks[2]]),
            Self.period(2, start: 20_500_000_000, [tracks[3], tracks[4]]),
        ]
        let text = try Self.text(
            periods,
            [
                0: [], 1: [.init(time: 4, duration: 2, number: 0, count: 3)],
                3: [.init(time: 0, duration: 2, number: 0, count: 1)],
                4: [.init(time: 0, duration: 3, number: 0, count: 1)],
            ])
        #expect(
            text == "<MPD type=\"static\" length=\"PT9.5S\"><P start=\"PT0S\"><A><T offset=\"4\">"
                + "<S t=\"4\" d=\"2\" r=\"2\"/></T></A></P><P start=\"PT6.5S\"><A><T offset=\"0\">"
                + "<S t=\"0\" d=\"2\"/></T></A><A><T offset=\"0\"><S t=\"0\" d=\"3\"/></T></A></P>"
                + "</MPD>")
    }
}
