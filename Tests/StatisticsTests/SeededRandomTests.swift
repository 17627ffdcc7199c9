import Statistics
import Testing

/// Draws have the moments that their names promise; a seed repeats them.
@Suite struct SeededRandomTests {
    private func moments(
        _ count: Int = 200_000, _ draw: (inout SeededRandom) -> Double
    ) -> (mean: Double, cv2: Double) {
        var random = SeededRandom(seed: 11)
        var (sum, squares) = (0.0, 0.0)
        for _ in 0..<count {
            let value = draw(&random)
            sum += value
            squares += value * value
        }
        let mean = sum / Double(count)
        return (mean, squares / Double(count) / (mean * mean) - 1)
    }

    @Test func exponential() {
        let found = moments { $0.exponential(mean: 3) }
        #expect(abs(found.mean - 3) < 0.03)
        #expect(abs(found.cv2 - 1) < 0.03)
    }

    @Test(arguments: [0.05, 0.5, 1, 2.5, 40]) func gamma(shape: Double) {
        let found = moments { $0.gamma(shape: shape) }
        #expect(abs(found.mean / shape - 1) < 0.05)
        #expect(abs(found.cv2 * shape - 1) < 0.05)
    }

    @Test func normal() {
        let found = moments { $0.normal() + 10 }
        #expect(abs(found.mean - 10) < 0.01)
        #expect(abs(found.cv2 * 100 - 1) < 0.03)
    }

    @Test func triangular() {
        let found = moments { random in
            let value = random.triangular(low: 1, likely: 2, high: 6)
            #expect(value >= 1 && value <= 6)
            return value
        }
        #expect(abs(found.mean - 3) < 0.02)
        // Variance (a² + b² + c² − ab − ac − bc) / 18.
        #expect(abs(found.cv2 - 21.0 / 18 / 9) < 0.005)
        var random = SeededRandom(seed: 1)
        #expect(random.triangular(low: 2, likely: 2, high: 2) == 2)
    }

    @Test func aSeedRepeatsAndAnotherDoesNot() {
        var (first, again, other) = (
            SeededRandom(seed: 1), SeededRandom(seed: 1), SeededRandom(seed: 2)
        )
        let numbers = (0..<100).map { _ in first.next() }
        #expect(numbers == (0..<100).map { _ in again.next() })
        #expect(numbers != (0..<100).map { _ in other.next() })
        var split = first.split()
        #expect(split.next() != first.next())
    }
}
