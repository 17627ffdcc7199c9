import Testing

@testable import Statistics

@Suite struct HistogramTests {
    /// By the package hdrhistogram 0.10 for Python: 1 of 0, 2 of 1, 1 of 2,047, 3 of 2,048, 1,000 of 12,345, 5 of
    /// 999,999 and 1 of 86,399,999,999, of 1 to 86,400,000,000 with three digits.
    private static let written =
        "HISTFAAAADJ4nJNpmSzMwMAgyAABzFCaEYhFZK8nMNh/gAgwsfyUZ2Lr1rjAvzGN62QrExMAu04JHg=="
    private static let values: [(Int64, Int64)] = [
        (0, 1), (1, 2), (2_047, 1), (2_048, 3), (12_345, 1_000), (999_999, 5), (86_399_999_999, 1),
    ]

    private func sample() -> Histogram {
        var histogram = Histogram()
        for (value, count) in Self.values { histogram.record(value, count: count) }
        return histogram
    }

    @Test func theBinsAreThoseOfHdrHistogram() {
        for index in 0..<Histogram.bins {
            let lowest = Histogram.value(ofBin: index)
            let highest = Histogram.highestEquivalent(ofBin: index)
            guard lowest <= Histogram.highest else { break }
            #expect(Histogram.index(of: lowest) == index)
            #expect(Histogram.index(of: min(highest, Histogram.highest)) == index)
            #expect(highest - lowest <= lowest / 1_000)
            #expect(Histogram.value(ofBin: index + 1) == highest + 1)
        }
        #expect(Histogram.index(of: Histogram.highest) < Histogram.bins)
    }

    @Test func whatAnotherProgramWroteIsRead() throws {
        let read = try Histogram(text: Self.written)
        var counted = Histogram()
        for (value, count) in Self.values {
            counted.record(Histogram.value(ofBin: Histogram.index(of: value)), count: count)
        }
        #expect(read.counts == counted.counts && read.total == counted.total)
        // Its values are known by their bins: the mean is that of HdrHistogram's own.
        #expect(read.minimum == 0 && read.maximum == counted.maximum)
        #expect(abs(read.mean / counted.mean - 1) < 0.000_5)
        #expect(read.value(quantile: 0.5) == 12_351)
        #expect(read.value(quantile: 0.999) == 1_000_447)
        // Two digits, and a thousand as the lowest value: what it counts stays where it was.
        let coarse = try Histogram(
            text: "HISTFAAAACl4nJNpmSzMwMDAwQABTBCK+QUQuxnsWMBg/wEqwrKSj2+jEBMAj3YGzQ==")
        #expect(coarse.total == 10)
        #expect(abs(coarse.value(quantile: 0.5) - 5_000_000) < 50_000)
        #expect(abs(coarse.value(quantile: 1) - 3_000_000_000) < 30_000_000)
    }

    @Test func theMeanLiesWithinWhatWasRecorded() {
        for value: Int64 in [0, 1, 374, 2_047, 2_049, 5_001, 86_399_999_999] {
            var histogram = Histogram()
            histogram.record(value, count: 3)
            #expect(histogram.mean == Double(value))
        }
        var stalls = Histogram()
        for count: Int64 in [0, 0, 1, 3] { stalls.record(count) }
        #expect(stalls.mean == 1)
    }

    @Test func aPartIsTakenOutAgain() {
        var (all, part, rest) = (Histogram(), Histogram(), Histogram())
        for (value, count) in Self.values {
            all.record(value, count: count)
            part.record(value, count: count / 2)
            rest.record(value, count: count - count / 2)
        }
        let left = all.subtracting(part)
        #expect(left.counts == rest.counts && left.total == rest.total && left.clamped == 0)
        #expect(all.subtracting(all).isEmpty)
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<50 {
            var histogram = Histogram()
            for _ in 0..<Int.random(in: 0...300, using: &random) {
                histogram.record(
                    Int64.random(
                        in: 0...1 << Int64.random(in: 0...36, using: &random), using: &random),
                    count: Int64.random(in: 1...1 << 40, using: &random))
            }
            let again = try Histogram(text: histogram.text)
            #expect(again.counts == histogram.counts)
            #expect(again.total == histogram.total)
            #expect(try Histogram(encoded: histogram.encoded).counts == histogram.counts)
        }
    }

    @Test func quantilesAreThoseOfTheSortedSamplesToAThousandth() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<20 {
            let samples = (0..<Int.random(in: 1...5_000, using: &random)).map { _ in
                Int64.random(in: 0...1 << Int64.random(in: 1...33, using: &random), using: &random)
            }.sorted()
            var histogram = Histogram()
            for sample in samples { histogram.record(sample) }
            for quantile in [0, 0.07, 0.5, 0.9, 0.99, 0.999, 1] {
                let rank = max(
                    Int((quantile * Double(samples.count) * (1 - 1e-12)).rounded(.up)), 1)
                let exact = samples[rank - 1]
                let found = histogram.value(quantile: quantile)
                #expect(found >= exact && found - exact <= exact / 1_000)
            }
            let mean = Double(samples.reduce(0, +)) / Double(samples.count)
            #expect(abs(histogram.mean - mean) <= mean * 1e-12)
        }
    }

    @Test func mergedIsAsIfOneHadCountedAll() throws {
        var random = SeededRandom(seed: 11)
        var whole = Histogram()
        var merged = Histogram()
        for _ in 0..<8 {
            var part = Histogram()
            for _ in 0..<2_000 {
                let sample = Int64.random(in: 0...90_000_000_000, using: &random)
                part.record(sample)
                whole.record(sample)
            }
            merged.add(part)
        }
        #expect(merged == whole)
        #expect(merged.clamped > 0)
        merged.add(Histogram())
        #expect(merged == whole)
    }

    @Test func nothingRecordedIsNothing() {
        let empty = Histogram()
        #expect(empty.isEmpty && empty.value(quantile: 0.99) == 0 && empty.mean == 0)
        #expect(empty.minimum == nil && empty.maximum == nil && empty.share(within: 5) == 1)
        #expect(throws: Never.self) { try Histogram(text: empty.text) }
    }

    @Test func whatIsNoHistogramIsRefused() {
        var bytes = sample().encoded
        for count in 0..<bytes.count where count != bytes.count {
            #expect(throws: HistogramError.self) {
                try Histogram(encoded: Array(bytes.prefix(count)))
            }
        }
        // More than its range: a run of bins beyond the last.
        bytes = Array(bytes.prefix(40)) + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F, 0x02]
        bytes.replaceSubrange(4..<8, with: [0, 0, 0, 7])
        #expect(throws: HistogramError.self) { try Histogram(encoded: bytes) }
        #expect(throws: HistogramError.self) { try Histogram(text: "HIST!") }
        #expect(throws: HistogramError.self) { try Histogram(text: "HISTFAAAADJ4nJNp") }
        var random = SeededRandom(seed: 5)
        for _ in 0..<2_000 {
            var damaged = sample().encoded
            for _ in 0..<3 {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] =
                    UInt8.random(in: 0...255, using: &random)
            }
            // Read or rejected, as long as it ends.
            _ = try? Histogram(encoded: damaged)
        }
    }

    @Test func aLogIsReadAsItWasWritten() throws {
        var intervals = [HistogramInterval(startSeconds: 0, lengthSeconds: 1, histogram: sample())]
        intervals.append(
            HistogramInterval(
                tag: "first_byte", startSeconds: 1.5, lengthSeconds: 0.25, histogram: Histogram()))
        let text =
            HdrHistogramLog.header(startSeconds: 1_700_000_000.25, comment: "a test")
            + intervals.map(HdrHistogramLog.line).joined()
        #expect(text.contains("#[StartTime: 1700000000.250 (seconds since epoch)]\n"))
        #expect(text.contains("\nTag=first_byte,1.500,0.250,0.000,"))
        var read: [HistogramInterval] = []
        try HdrHistogramLog.read(text.replacing("\n", with: "\r\n")) { read.append($0) }
        #expect(read.map(\.tag) == [nil, "first_byte"])
        #expect(read.map(\.startSeconds) == [0, 1.5])
        #expect(read.map(\.histogram.counts) == intervals.map(\.histogram.counts))
        #expect {
            try HdrHistogramLog.read(text + "1,2,3,x\n") { _ in }
        } throws: { ($0 as? HistogramError)?.detail == "line 7: it is not base64" }
    }

    /// Intervals are printed in thousandths and added up: what no clock reads is rejected.
    @Test(arguments: ["1e300,1", "-1e18,1", "1,1e300", "1,-1"])
    func intervalsOfNoClock(times: String) {
        #expect(throws: HistogramError.self) {
            try HdrHistogramLog.read("\(times),0,HISTFAAAAA\n") { _ in }
        }
    }
}
