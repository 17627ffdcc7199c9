import Statistics

/// An event-driven simulation, for events that occur out of order.
///
/// Waiting on-demand jobs are not stored. A second copy of the arrival process draws the same
/// numbers later and yields the arrival of the job at the front.
struct PoolRun {
    private enum What {
        case ended, failed, replaced, handedBack, backlog
    }

    private struct Event: Comparable {
        let time: Double
        let what: What
        /// A slot for `ended`, a worker for `failed` and `replaced`.
        var index: Int32 = 0
        /// The slot's number of failures: if it has changed, its worker has failed since.
        var epoch: Int32 = 0

        static func < (left: Event, right: Event) -> Bool { left.time < right.time }
    }

    private struct Slot {
        /// NaN for a job of the backlog.
        var arrival = 0.0
        var start = 0.0
        var epoch: Int32 = 0
        var isBusy = false
    }

    private let simulation: PoolSimulation
    private var service: SeededRandom
    private var failing: SeededRandom
    private var arrivals: ArrivalProcess?
    /// Lags behind `arrivals` by the waiting jobs.
    private var waiting: ArrivalProcess?
    private var nextArrival: Double?
    private var waitingJobs = 0
    private var arrived = 0

    private var events = MinHeap<Event>()
    private var slots: [Slot]
    private var freeSlots: [Int32] = []
    private var isUp: [Bool]
    private var busySlots = 0
    private var backlogWaiting = 0
    private var backlogLeft: Int
    /// Arrivals of lost jobs: until their lease expires, and then until a slot is free.
    private var lost = Deque()
    private var again = Deque()

    private var recorder: WaitRecorder
    private var answer = SimulationResult(waitsByPart: [])
    private var now = 0.0
    private var countedFrom = Double.infinity
    private var lastArrival = 0.0
    private var busySeconds = 0.0
    private var done = 0

    init(_ simulation: PoolSimulation) {
        self.simulation = simulation
        let streams = simulation.streams()
        (service, failing) = (streams.service, streams.failures)
        arrivals = simulation.arrivals()
        waiting = arrivals
        let count = simulation.workers * simulation.slotsPerWorker
        slots = [Slot](repeating: Slot(), count: count)
        isUp = [Bool](repeating: true, count: simulation.workers)
        freeSlots = (0..<Int32(count)).reversed()
        backlogLeft = simulation.backlogJobs
        recorder = WaitRecorder(simulation)
        answer.backlogDoneByPart = [Int](
            repeating: 0, count: max(1, simulation.arrivalsPerSecond.count))
        if simulation.warmUpJobs == 0 || arrivals == nil { countedFrom = 0 }
    }

    mutating func result() -> SimulationResult {
        if simulation.backlogJobs > 0 {
            events.insert(Event(time: simulation.backlogStartSeconds, what: .backlog))
        }
        for worker in 0..<simulation.workers { planFailure(of: Int32(worker)) }
        draw()
        // Each run ends or is lost. A job that is lost 50 times on average will never finish.
        let limit = 50 * (simulation.jobs + simulation.backlogJobs + 1_000)
        while nextArrival != nil || waitingJobs + busySlots + backlogLeft > 0 || !lost.isEmpty
            || !again.isEmpty
        {
            step()
            if answer.lostRuns > limit {
                answer.isComplete = false
                break
            }
        }
        return finish()
    }

    private mutating func step() {
        if let arrival = nextArrival, arrival <= events.first?.time ?? .infinity {
            advance(to: arrival)
            if arrived == simulation.warmUpJobs { countedFrom = arrival }
            arrived += 1
            waitingJobs += 1
            lastArrival = arrival
            draw()
        } else if let event = events.removeFirst() {
            advance(to: event.time)
            handle(event)
        }
        while !freeSlots.isEmpty, let arrival = nextJob() { start(arrival) }
    }

    private mutating func advance(to time: Double) {
        let (from, to) = (max(now, countedFrom), min(time, horizon))
        if to > from { busySeconds += Double(busySlots) * (to - from) }
        now = time
    }

    /// End of the time for the utilization: the last arrival, or infinite with a backlog only.
    private var horizon: Double {
        arrivals != nil && nextArrival == nil ? lastArrival : .infinity
    }

    private mutating func draw() {
        guard arrived < simulation.jobs, let next = arrivals?.next(),
            next <= simulation.untilSeconds
        else { return nextArrival = nil }
        nextArrival = next
    }

    /// Returns the arrival of the next job; nil if none waits.
    private mutating func nextJob() -> Double? {
        if let arrival = again.removeFirst() { return arrival }
        if waitingJobs > 0 {
            waitingJobs -= 1
            return waiting?.next()
        }
        guard backlogWaiting > 0 else { return nil }
        backlogWaiting -= 1
        return .nan
    }

    private mutating func start(_ arrival: Double) {
        guard let slot = freeSlots.popLast() else { return }
        let index = Int(slot)
        slots[index].arrival = arrival
        slots[index].start = now
        slots[index].isBusy = true
        busySlots += 1
        let distribution =
            arrival.isNaN ? simulation.backlogService ?? simulation.service : simulation.service
        events.insert(
            Event(
                time: now + distribution.draw(&service), what: .ended, index: slot,
                epoch: slots[index].epoch))
    }
}

// MARK: Events

extension PoolRun {
    private mutating func handle(_ event: Event) {
        switch event.what {
        case .ended: end(event)
        case .failed: fail(event.index)
        case .replaced:
            answer.replacements += 1
            isUp[Int(event.index)] = true
            freeSlots += range(event.index)
            planFailure(of: event.index)
        case .handedBack:
            guard let arrival = lost.removeFirst() else { return }
            if arrival.isNaN { backlogWaiting += 1 } else { again.append(arrival) }
        case .backlog: backlogWaiting = simulation.backlogJobs
        }
    }

    private mutating func end(_ event: Event) {
        let slot = slots[Int(event.index)]
        guard slot.isBusy, slot.epoch == event.epoch else { return }
        slots[Int(event.index)].isBusy = false
        busySlots -= 1
        freeSlots.append(event.index)
        if slot.arrival.isNaN {
            backlogLeft -= 1
            let parts = answer.backlogDoneByPart.count
            let part = Int(now / ArrivalProcess.daySeconds * Double(parts)) % parts
            answer.backlogDoneByPart[part] += 1
            if backlogLeft == 0 { answer.backlogDoneSeconds = now }
            if now >= countedFrom { done += 1 }
        } else if slot.arrival >= countedFrom {
            recorder.add(slot.start - slot.arrival, arrival: slot.arrival)
            done += 1
        }
    }

    private mutating func fail(_ worker: Int32) {
        guard let failures = simulation.failures else { return }
        answer.failures += 1
        isUp[Int(worker)] = false
        let range = range(worker)
        for index in range {
            slots[Int(index)].epoch &+= 1
            guard slots[Int(index)].isBusy else { continue }
            slots[Int(index)].isBusy = false
            busySlots -= 1
            answer.lostRuns += 1
            lost.append(slots[Int(index)].arrival)
            events.insert(Event(time: now + failures.leaseSeconds, what: .handedBack))
        }
        freeSlots.removeAll { range.contains($0) }
        let repair = failing.exponential(mean: failures.repairSeconds)
        events.insert(Event(time: now + repair, what: .replaced, index: worker))
    }

    private mutating func planFailure(of worker: Int32) {
        guard let failures = simulation.failures else { return }
        let time = now + failing.exponential(mean: failures.meanSecondsBetween)
        events.insert(Event(time: time, what: .failed, index: worker))
    }

    private func range(_ worker: Int32) -> Range<Int32> {
        let count = Int32(simulation.slotsPerWorker)
        return worker * count..<(worker + 1) * count
    }

    private mutating func finish() -> SimulationResult {
        let end = arrivals == nil ? now : lastArrival
        let begin = min(countedFrom, end)
        recorder.finish(&answer, seconds: end - begin)
        if end > begin {
            answer.utilisation = busySeconds / (end - begin) / Double(slots.count)
        }
        if now > begin { answer.jobsPerSecond = Double(done) / (now - begin) }
        answer.seconds = now
        return answer
    }
}

/// A FIFO queue of numbers; memory is proportional to its contents.
private struct Deque {
    private var elements: [Double] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    mutating func append(_ element: Double) { elements.append(element) }

    mutating func removeFirst() -> Double? {
        guard head < elements.count else { return nil }
        defer {
            head += 1
            if head > 1_000, head * 2 > elements.count {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head]
    }
}
