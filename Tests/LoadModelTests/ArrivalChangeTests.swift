import Testing

@testable import LoadModel

/// The plan of arrivals changes while it is followed.
@Suite struct ArrivalChangeTests {
    private static let stages = [
        LoadStage(seconds: 10, from: 0, to: 100), LoadStage(seconds: 10, from: 100, to: 100),
        LoadStage(seconds: 10, from: 20, to: 20),
    ]

    private static func schedule(
        _ process: LoadModel.ArrivalProcess, _ stages: [LoadStage] = stages,
        _ shard: LoadShard = .whole
    ) -> ArrivalSchedule {
        ArrivalSchedule(stages: stages, process: process, shard: shard, seed: 7)
    }

    /// All times of a schedule that is changed once its arrivals are beyond `seconds`.
    private static func times(
        _ schedule: ArrivalSchedule, changedAt seconds: Double, to level: Double,
        whenAfter read: Double? = nil
    ) -> [Double] {
        var schedule = schedule
        var times: [Double] = []
        while let time = schedule.next() {
            guard time <= read ?? seconds else { break }
            times.append(time)
        }
        schedule.change(to: stages.changed(by: LoadChange(seconds: seconds, level: level)))
        while let time = schedule.next() { times.append(time) }
        return times
    }

    @Test func stagesAreCutAndGoOnToTheirEnd() {
        #expect(
            Self.stages.changed(by: LoadChange(seconds: 5, level: 300)) == [
                LoadStage(seconds: 5, from: 0, to: 50), LoadStage(seconds: 25, from: 300, to: 300),
            ])
        #expect(
            Self.stages.changed(by: LoadChange(seconds: 20, level: 0)) == Array(
                Self.stages.prefix(2)) + [
                    LoadStage(seconds: 10, from: 0, to: 0)
                ])
        #expect(
            Self.stages.changed(by: LoadChange(seconds: 29, level: 9)).reduce(0) { $0 + $1.seconds }
                == 30)
    }

    @Test(arguments: [0.0, 3.7, 10, 14.2, 25])
    func aConstantRateHasTheArrivalsOfBothPlans(seconds: Double) {
        let times = Self.times(Self.schedule(.constant), changedAt: seconds, to: 50)
        var whole = Self.schedule(
            .constant, Self.stages.changed(by: LoadChange(seconds: seconds, level: 50)))
        var expected: [Double] = []
        while let time = whole.next() { expected.append(time) }
        #expect(times == expected)
        #expect(times == times.sorted())
        let after = times.filter { $0 > seconds }
        #expect(abs(Double(after.count) - 50 * (30 - seconds)) <= 1)
    }

    /// One cursor counts what is due, and another what is sent, which may be far behind.
    @Test(arguments: LoadModel.ArrivalProcess.allCases)
    func cursorsThatAreElsewhereStayOfOnePlan(process: LoadModel.ArrivalProcess) {
        let schedule = Self.schedule(process)
        let due = Self.times(schedule, changedAt: 12, to: 400)
        let sent = Self.times(schedule, changedAt: 12, to: 400, whenAfter: 4)
        #expect(due.count == sent.count && due == due.sorted())
        #expect(zip(due, sent).allSatisfy { abs($0 - $1) < 1e-9 })
        // Before the change nothing is other.
        var plain = schedule
        for time in due where time < 11.9 { #expect(abs((plain.next() ?? 0) - time) < 1e-9) }
    }

    /// It was told after the change, as a worker of a cluster may be: the rest makes up for it.
    @Test(arguments: LoadModel.ArrivalProcess.allCases, [0.0, 20, 400])
    func aLateChangeLeavesTheSameArrivals(process: LoadModel.ArrivalProcess, level: Double) {
        let schedule = Self.schedule(process)
        let inTime = Self.times(schedule, changedAt: 12, to: level)
        let late = Self.times(schedule, changedAt: 12, to: level, whenAfter: 13)
        // Those that the former plan had until then are sent; no other is sent twice or left out.
        let before = Self.times(schedule, changedAt: 13, to: 0).count
        #expect(late.count == max(inTime.count, before))
        #expect(zip(late, inTime).dropFirst(before).allSatisfy { abs($0 - $1) < 1e-9 })
    }

    @Test func poissonArrivalsHaveTheNewRate() {
        let times = Self.times(Self.schedule(.poisson), changedAt: 12, to: 400)
        let after = times.filter { $0 > 12 }
        // 7,200 are expected, with a deviation of 85.
        #expect(abs(after.count - 7_200) < 400, "\(after.count)")
    }

    @Test func shardsChangeTogether() {
        var times: [Double] = []
        for index in 0..<3 {
            let shard = LoadShard(index: index, count: 3)
            times += Self.times(
                Self.schedule(.constant, Self.stages, shard), changedAt: 7, to: 90)
        }
        let whole = Self.times(Self.schedule(.constant), changedAt: 7, to: 90)
        #expect(times.sorted() == whole)
    }

    @Test func aPlanThatHasEndedBeginsAgain() {
        var schedule = Self.schedule(.constant, [LoadStage(seconds: 1, from: 5, to: 5)])
        while schedule.next() != nil {}
        schedule.change(
            to: [LoadStage(seconds: 1, from: 5, to: 5), LoadStage(seconds: 1, from: 2, to: 2)])
        #expect(schedule.next() == 1 && schedule.next() == 1.5 && schedule.next() == nil)
    }
}
