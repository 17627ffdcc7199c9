import Model
import Testing

@Suite struct ByteCountTests {
    @Test(
        arguments: [
            ("1", 1), ("0", 0), ("500GB", 500_000_000_000), ("500 gb", 500_000_000_000),
            ("1.5TiB", 3 << 39), ("64 MiB", 64 << 20), ("0.25KiB", 256), ("2.125kB", 2_125),
            ("7B", 7),
        ] as [(String, Int64)])
    func sizesAreRead(text: String, bytes: Int64) {
        #expect(ByteCount.parse(text) == bytes)
    }

    @Test(arguments: [
        "", "GB", "-1", "1.2.3GB", "1.GB", ".5GB", "1.2345GB", "1XB", "1 G B", "1e9", "9999999PiB",
        "99999999999999999999", "١GB",
    ])
    func anythingElseIsNot(text: String) {
        #expect(ByteCount.parse(text) == nil)
    }
}
