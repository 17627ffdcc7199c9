import Testing

@testable import Metrics

/// The bytes of remote write, read by a reader of protobuf and snappy of the test's own.
@Suite struct RemoteWriteTests {
    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func varint() -> UInt64 {
            var (value, shift): (UInt64, UInt64) = (0, 0)
            while let byte = bytes.popFirst() {
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { break }
                shift += 7
            }
            return value
        }

        mutating func take(_ count: Int) -> [UInt8] {
            defer { bytes = bytes.dropFirst(count) }
            return Array(bytes.prefix(count))
        }

        /// The next field of a message, with its bytes or its number.
        mutating func field() -> (number: Int, bytes: [UInt8], value: UInt64) {
            let tag = varint()
            switch tag & 7 {
            case 0: return (Int(tag >> 3), [], varint())
            case 1:
                let value = take(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                return (Int(tag >> 3), [], value)
            default: return (Int(tag >> 3), take(Int(varint())), 0)
            }
        }
    }

    private struct Series: Equatable {
        var labels: [String]
        var value: Double
        var milliseconds: Int64
    }

    private static func series(_ message: [UInt8]) -> [Series] {
        var all: [Series] = []
        var request = Reader(bytes: message[...])
        while !request.bytes.isEmpty {
            var series = Series(labels: [], value: 0, milliseconds: 0)
            var fields = Reader(bytes: request.field().bytes[...])
            while !fields.bytes.isEmpty {
                let field = fields.field()
                var inner = Reader(bytes: field.bytes[...])
                let (first, second) = (inner.field(), inner.field())
                if field.number == 1 {
                    series.labels.append(
                        String(decoding: first.bytes, as: UTF8.self) + "="
                            + String(decoding: second.bytes, as: UTF8.self))
                } else {
                    series.value = Double(bitPattern: first.value)
                    series.milliseconds = Int64(bitPattern: second.value)
                }
            }
            all.append(series)
        }
        return all
    }

    private static func unpacked(_ block: [UInt8]) -> [UInt8] {
        var reader = Reader(bytes: block[...])
        let length = Int(reader.varint())
        var bytes: [UInt8] = []
        while let tag = reader.bytes.popFirst() {
            // A literal whose length is in two bytes.
            guard tag == 61 << 2 else { return [] }
            let count = reader.take(2)
            bytes += reader.take(Int(count[0]) + Int(count[1]) << 8 + 1)
        }
        #expect(bytes.count == length)
        return bytes
    }

    @Test func aSampleIsASeriesWithSortedLabels() {
        let counter = MetricFamily(
            "dray_sent", .counter, "Sent.", labels: ["test", "code"], maxSeries: 9)
        let gauge = MetricFamily("dray_now", .gauge, "Now.")
        let body = RemoteWrite.body(
            [
                (counter, [MetricSample(["é \"1\"", "200"], Int64(300))]),
                (gauge, [MetricSample([], 0.25)]),
            ], milliseconds: 1_795_000_000_123)
        #expect(
            Self.series(Self.unpacked(body)) == [
                Series(
                    labels: ["__name__=dray_sent_total", "code=200", "test=é \"1\""], value: 300,
                    milliseconds: 1_795_000_000_123),
                Series(
                    labels: ["__name__=dray_now"], value: 0.25, milliseconds: 1_795_000_000_123),
            ])
    }

    @Test func aHistogramHasCumulativeBuckets() {
        let family = MetricFamily("dray_time_seconds", .histogram, "Time.")
        let snapshot = HistogramSnapshot(bounds: [0.5, 1], counts: [2, 3, 4], sum: 7.5)
        let series = Self.series(
            RemoteWrite.message(
                [(family, [MetricSample([], .histogram(snapshot))])], milliseconds: 5))
        #expect(
            series.map(\.labels) == [
                ["__name__=dray_time_seconds_bucket", "le=0.5"],
                ["__name__=dray_time_seconds_bucket", "le=1.0"],
                ["__name__=dray_time_seconds_bucket", "le=+Inf"],
                ["__name__=dray_time_seconds_sum"], ["__name__=dray_time_seconds_count"],
            ])
        #expect(series.map(\.value) == [2, 5, 9, 7.5, 9])
    }

    @Test(arguments: [0, 1, 59, 60, 61, 65_535, 65_536, 65_537, 200_000])
    func blocksOfEveryLengthAreRead(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(Self.unpacked(RemoteWrite.snappy(bytes)) == bytes)
    }
}
