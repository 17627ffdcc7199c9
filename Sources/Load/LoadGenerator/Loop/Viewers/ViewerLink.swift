/// The access link of one viewer: bytes of all its requests pass one after another.
final class ViewerLink {
    /// Seconds of bytes that are read at once.
    private static let quantumSeconds = 0.02
    private static let minQuantumBytes = 1_500

    private let bytesPerSecond: Double
    /// Time on the test's clock at which all bytes so far have passed.
    private var freeSeconds = 0.0

    init(bitsPerSecond: Double) { bytesPerSecond = bitsPerSecond / 8 }

    /// Maximum number of bytes of one read.
    var quantumBytes: Int {
        Int(min(max(bytesPerSecond * Self.quantumSeconds, Double(Self.minQuantumBytes)), 1e9))
    }

    func take(_ count: Int, atSeconds now: Double) {
        freeSeconds = max(freeSeconds, now) + Double(count) / bytesPerSecond
    }

    /// Seconds until more bytes may be read; 0 or less for now.
    func waitSeconds(_ now: Double) -> Double { freeSeconds - now }
}
