package import Model
import Rendering

/// The resource usage of the transfer engine.
package struct TransferBenchmarkReport: BenchmarkReport {
    package var objects: Int
    /// Number of objects that did not arrive.
    package var failed: Int
    /// The first of these failures.
    package var failure: Failure?
    package var bytes: Int64
    package var connections: Int
    /// Seconds from the first request to the last object under its final key.
    package var seconds: Double
    package var cpuSeconds: Double
    package var peakResidentBytes: Int64

    private enum CodingKeys: String, CodingKey {
        case objects, failed, failure, bytes, connections, seconds, cpuSeconds
        case peakResidentBytes, objectsPerSecond, bytesPerSecond, cpuSecondsPerGigabyte
        case cpuSecondsPer10000Objects
    }

    private func share(_ value: Double, of whole: Double) -> Double {
        whole > 0 ? value / whole : 0
    }

    private var cpuPerGigabyte: Double { share(cpuSeconds, of: Double(bytes) / 1e9) }
    private var cpuPer10000: Double { share(cpuSeconds, of: Double(objects) / 10_000) }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(objects, forKey: .objects)
        try values.encode(failed, forKey: .failed)
        try values.encodeIfPresent(failure?.description, forKey: .failure)
        try values.encode(bytes, forKey: .bytes)
        try values.encode(connections, forKey: .connections)
        try values.encode(seconds.rounded(places: 4), forKey: .seconds)
        try values.encode(cpuSeconds.rounded(places: 4), forKey: .cpuSeconds)
        try values.encode(peakResidentBytes, forKey: .peakResidentBytes)
        try values.encode(
            share(Double(objects), of: seconds).rounded(places: 1), forKey: .objectsPerSecond)
        try values.encode(
            share(Double(bytes), of: seconds).wholeNumber, forKey: .bytesPerSecond)
        try values.encode(cpuPerGigabyte.rounded(places: 3), forKey: .cpuSecondsPerGigabyte)
        try values.encode(cpuPer10000.rounded(places: 3), forKey: .cpuSecondsPer10000Objects)
    }

    package var text: String {
        var rows = [
            ("objects", HumanFormat.count(objects)),
            ("bytes", HumanFormat.bytes(bytes)),
            ("seconds", HumanFormat.fixed(seconds, places: 3)),
            ("objects/s", HumanFormat.count(share(Double(objects), of: seconds).wholeNumber)),
            ("rate", HumanFormat.rate(bytesPerSecond: share(Double(bytes), of: seconds))),
            (
                "CPU",
                "\(HumanFormat.fixed(cpuSeconds, places: 2)) s: "
                    + "\(HumanFormat.fixed(cpuPerGigabyte, places: 2)) s a GB, "
                    + "\(HumanFormat.fixed(cpuPer10000, places: 2)) s for 10,000 objects"
            ),
            ("peak resident", HumanFormat.bytes(peakResidentBytes)),
        ]
        if let failure {
            rows.append(("failed", "\(HumanFormat.count(failed)), first \(failure)"))
        }
        return figures(rows)
    }
}
