/// Encodes metrics for Prometheus's remote write, version 1: a protobuf message in snappy's block
/// format.
///
/// Sources: Prometheus Remote-Write 1.0 specification; prometheus/prompb/remote.proto and
/// types.proto; google/snappy, format_description.txt.
package enum RemoteWrite {
    /// The headers of a request, besides those of authentication.
    package static let headers = [
        "Content-Type: application/x-protobuf", "Content-Encoding: snappy",
        "X-Prometheus-Remote-Write-Version: 0.1.0",
    ]

    /// Returns the body of a request: one sample for each series.
    ///
    /// - Parameter milliseconds: time of the samples, since 1970.
    package static func body(
        _ families: [(family: MetricFamily, samples: [MetricSample])], milliseconds: Int64
    ) -> [UInt8] {
        snappy(message(families, milliseconds: milliseconds))
    }

    // MARK: Protobuf

    static func message(
        _ families: [(family: MetricFamily, samples: [MetricSample])], milliseconds: Int64
    ) -> [UInt8] {
        var request = ProtobufWriter()
        for (family, samples) in families {
            for sample in samples {
                for (name, bound, value) in series(family, sample) {
                    var labels = zip(family.labels, sample.labels).map { ($0, $1) }
                    if let bound { labels.append(("le", bound)) }
                    labels.append(("__name__", name))
                    request.message(1) { series in
                        // The receiver requires this order.
                        for (name, value) in labels.sorted(by: { $0.0 < $1.0 }) {
                            series.message(1) { label in
                                label.text(1, name)
                                label.text(2, value)
                            }
                        }
                        series.message(2) { sample in
                            sample.double(1, value)
                            sample.integer(2, milliseconds)
                        }
                    }
                }
            }
        }
        return request.bytes
    }

    /// Returns the series of a sample: its name, the bound of a bucket, and the value.
    private static func series(
        _ family: MetricFamily, _ sample: MetricSample
    ) -> [(name: String, bound: String?, value: Double)] {
        switch sample.value {
        case .integer(let value): return [(family.sampleName, nil, Double(value))]
        case .number(let value): return [(family.sampleName, nil, value)]
        case .histogram(let histogram):
            var count: Int64 = 0
            var all: [(name: String, bound: String?, value: Double)] = []
            let bounds = histogram.bounds.map { "\($0)" } + ["+Inf"]
            for (bound, inBucket) in zip(bounds, histogram.counts) {
                count += inBucket
                all.append(("\(family.name)_bucket", bound, Double(count)))
            }
            all.append(("\(family.name)_sum", nil, histogram.sum))
            all.append(("\(family.name)_count", nil, Double(count)))
            return all
        }
    }

    // MARK: Snappy

    private static let maxLiteral = 1 << 16

    /// Returns bytes as a snappy block of literals: uncompressed, which every reader accepts.
    static func snappy(_ bytes: [UInt8]) -> [UInt8] {
        var block: [UInt8] = []
        ProtobufWriter.append(UInt64(bytes.count), to: &block)
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(maxLiteral)
            let length = part.count - 1
            // A tag of 61 has the length in the two bytes after it.
            block += [61 << 2, UInt8(length & 0xFF), UInt8(length >> 8)]
            block += part
            rest = rest.dropFirst(part.count)
        }
        return block
    }
}

/// Writes protobuf's wire format.
private struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(value & 0x7F) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(value))
    }

    /// Writes a field's number and wire type: 0 varint, 1 eight bytes, 2 bytes with their length.
    private mutating func tag(_ field: UInt64, _ type: UInt64) {
        Self.append(field << 3 | type, to: &bytes)
    }

    mutating func message(_ field: UInt64, _ body: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        body(&inner)
        tag(field, 2)
        Self.append(UInt64(inner.bytes.count), to: &bytes)
        bytes += inner.bytes
    }

    mutating func text(_ field: UInt64, _ text: String) {
        tag(field, 2)
        Self.append(UInt64(text.utf8.count), to: &bytes)
        bytes += text.utf8
    }

    mutating func double(_ field: UInt64, _ value: Double) {
        tag(field, 1)
        withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes += $0 }
    }

    mutating func integer(_ field: UInt64, _ value: Int64) {
        tag(field, 0)
        Self.append(UInt64(bitPattern: value), to: &bytes)
    }
}
