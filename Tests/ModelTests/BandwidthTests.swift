import Model
import TestSupport
import Testing

@Suite struct BandwidthTests {
    private static let rates: [(text: String, bytes: Int64)] = [
        ("200Mbit/s", 25_000_000), ("200 mbit/s", 25_000_000), ("1Gbit/s", 125_000_000),
        ("1.5Gbps", 187_500_000), ("8kbit/s", 1_000), ("8000bit/s", 1_000),
        ("10Tbit/s", 1_250_000_000_000),
        ("25MB/s", 25_000_000), ("1kB/s", 1_000), ("1GB/s", 1_000_000_000), ("1000B/s", 1_000),
        ("8MiB/s", 8_388_608), ("1KiB/s", 1024), ("1GiB/s", 1_073_741_824), ("0.125MiB/s", 131_072),
        ("512kbps", 64_000),
    ]

    @Test(arguments: rates)
    func ratesAreRead(text: String, bytes: Int64) throws {
        let bandwidth = try Bandwidth(text)
        #expect(bandwidth == .bytesPerSecond(bytes))
        #expect(try Bandwidth(bandwidth.description) == bandwidth)
    }

    @Test(arguments: [
        ("200Mbit/s", "200Mbit/s"), ("1500 Mbps", "1500Mbit/s"), ("25MB/s", "200Mbit/s"),
        ("8MiB/s", "8MiB/s"), ("1000MiB/s", "1000MiB/s"), ("1001B/s", "1001B/s"),
        ("Off", "off"), ("UNLIMITED", "unlimited"), ("2Gbit/s", "2Gbit/s"),
    ])
    func theShortestExactTextIsPrinted(text: String, printed: String) throws {
        #expect(try Bandwidth(text).description == printed)
    }

    @Test(arguments: [
        "", "200", "Mbit/s", "200Mb/s", "200mb/s", "200M", "-1Mbit/s", "0Mbit/s", "7999bit/s",
        "999B/s", "10.001Tbit/s", "999999999999999Tbit/s", "9999999999999999bit/s", "1e3Mbit/s",
        "1.Mbit/s", ".5Mbit/s", "1.0001Mbit/s", "1.2.3Mbit/s", "1,5Mbit/s", "٣Mbit/s", "1TiB/s",
        "200Mbit/h", "unlimited!", "200 Mbit /s",
    ])
    func anythingElseIsRefused(text: String) {
        let failure = #expect(throws: Failure.self) { try Bandwidth(text) }
        #expect(failure?.code == "input.field")
        #expect(failure?.message.contains("'\(text)' was given; allowed: ") == true)
    }

    @Test func aSecondLimitOnlyLowers() {
        #expect(Bandwidth.unlimited.capped(at: nil) == .unlimited)
        #expect(Bandwidth.unlimited.capped(at: 5_000) == .bytesPerSecond(5_000))
        #expect(Bandwidth.bytesPerSecond(4_000).capped(at: 5_000) == .bytesPerSecond(4_000))
        #expect(Bandwidth.bytesPerSecond(6_000).capped(at: 5_000) == .bytesPerSecond(5_000))
        #expect(Bandwidth.off.capped(at: 5_000) == .off)
    }
}
