import Model
import Testing

@Suite struct SaturatingIntegerTests {
    @Test(arguments: [
        (0, 0), (-0.9, 0), (1.9, 1), (-1.9, -1), (0x1p-1060, 0), (9e18, 9_000_000_000_000_000_000),
        (9.3e18, Int.max), (-9.3e18, Int.min), (.infinity, Int.max), (-.infinity, Int.min),
        (.nan, 0),
    ])
    func wholePart(value: Double, expected: Int) {
        #expect(Int(saturating: value) == expected)
    }

    @Test func boundsAreThoseOfTheType() {
        #expect(UInt8(saturating: -1) == 0)
        #expect(UInt8(saturating: 256) == 255)
        #expect(Int64(saturating: 0x1p63) == .max)
        #expect(Int64(saturating: -0x1p63) == .min)
    }
}
