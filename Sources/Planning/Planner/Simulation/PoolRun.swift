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
    private var machines: Machines
    private var backlog: Backlog
    /// Arrivals of lost jobs: until their lease expires, and then until a slot is free.
    private var lost = Deque()
    private var again = Deque()

    private var measurement: Measurement
    private var answer = SimulationResult(waitsByPart: [])
    private var now = 0.0

    init(_ simulation: PoolSimulation) {
        self.simulation = simulation
        let streams = simulation.streams()
        (service, failing) = (streams.service, streams.failures)
        arrivals = simulation.arrivals()
        waiting = arrivals
        machines = Machines(
            workers: simulation.workers, slotsPerWorker: Int32(simulation.slotsPerWorker))
        backlog = Backlog(left: simulation.backlogJobs)
        measurement = Measurement(simulation)
        answer.backlogDoneByPart = [Int](
            repeating: 0, count: max(1, simulation.arrivalsPerSecond.count))
        if simulation.warmUpJobs == 0 || arrivals == nil { measurement.countedFrom = 0 }
    }

    mutating func result() -> SimulationResult {
        if simulation.backlogJobs > 0 {
            events.insert(Event(time: simulation.backlogStartSeconds, what: .backlog))
        }
        for worker in 0..<simulation.workers { planFailure(of: Int32(worker)) }
        draw()
        // Each run ends or is lost. A job that is lost 50 times on average will never finish.
        let limit = 50 * (simulation.jobs + simulation.backlogJobs + 1_000)
        while nextArrival != nil || waitingJobs + machines.busyCount + backlog.left > 0
            || !lost.isEmpty || !again.isEmpty
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
            if arrived == simulation.warmUpJobs { measurement.countedFrom = arrival }
            arrived += 1
            waitingJobs += 1
            measurement.lastArrival = arrival
            draw()
        } else if let event = events.removeFirst() {
            advance(to: event.time)
            handle(event)
        }
        while machines.hasFreeSlot, let arrival = nextJob() { start(arrival) }
    }

    private mutating func advance(to time: Double) {
        measurement.addBusy(machines.busyCount, from: now, to: min(time, horizon))
        now = time
    }

    /// End of the time for the utilization: the last arrival, or infinite with a backlog only.
    private var horizon: Double {
        arrivals != nil && nextArrival == nil ? measurement.lastArrival : .infinity
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
        return backlog.next() ? .nan : nil
    }

    private mutating func start(_ arrival: Double) {
        guard let slot = machines.start(arrival, now: now) else { return }
        let distribution =
            arrival.isNaN ? simulation.backlogService ?? simulation.service : simulation.service
        events.insert(
            Event(
                time: now + distribution.draw(&service), what: .ended, index: slot.index,
                epoch: slot.epoch))
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
            machines.replace(event.index)
            planFailure(of: event.index)
        case .handedBack:
            guard let arrival = lost.removeFirst() else { return }
            if arrival.isNaN { backlog.waiting += 1 } else { again.append(arrival) }
        case .backlog: backlog.waiting = simulation.backlogJobs
        }
    }

    private mutating func end(_ event: Event) {
        guard let job = machines.end(event.index, epoch: event.epoch) else { return }
        if job.arrival.isNaN {
            backlog.left -= 1
            let parts = answer.backlogDoneByPart.count
            let part = Int(now / ArrivalProcess.daySeconds * Double(parts)) % parts
            answer.backlogDoneByPart[part] += 1
            if backlog.left == 0 { answer.backlogDoneSeconds = now }
            if now >= measurement.countedFrom { measurement.done += 1 }
        } else {
            measurement.add(wait: job.start - job.arrival, arrival: job.arrival)
        }
    }

    private mutating func fail(_ worker: Int32) {
        guard let failures = simulation.failures else { return }
        answer.failures += 1
        for arrival in machines.fail(worker) {
            answer.lostRuns += 1
            lost.append(arrival)
            events.insert(Event(time: now + failures.leaseSeconds, what: .handedBack))
        }
        let repair = failing.exponential(mean: failures.repairSeconds)
        events.insert(Event(time: now + repair, what: .replaced, index: worker))
    }

    private mutating func planFailure(of worker: Int32) {
        guard let failures = simulation.failures else { return }
        let time = now + failing.exponential(mean: failures.meanSecondsBetween)
        events.insert(Event(time: time, what: .failed, index: worker))
    }

    private mutating func finish() -> SimulationResult {
        let end = arrivals == nil ? now : measurement.lastArrival
        measurement.finish(&answer, end: end, now: now, slots: machines.slotCount)
        answer.seconds = now
        return answer
    }
}

/// The slots of all workers.
private struct Machines {
    struct Slot {
        /// NaN for a job of the backlog.
        var arrival = 0.0
        var start = 0.0
        /// Number of failures of its worker.
        var epoch: Int32 = 0
        var isBusy = false
    }

    private let slotsPerWorker: Int32
    private var slots: [Slot]
    private var free: [Int32]
    private(set) var busyCount = 0

    init(workers: Int, slotsPerWorker: Int32) {
        self.slotsPerWorker = slotsPerWorker
        let count = workers * Int(slotsPerWorker)
        slots = [Slot](repeating: Slot(), count: count)
        free = (0..<Int32(count)).reversed()
    }

    var slotCount: Int { slots.count }
    var hasFreeSlot: Bool { !free.isEmpty }

    /// Starts a job in a free slot; nil if there is none.
    mutating func start(_ arrival: Double, now: Double) -> (index: Int32, epoch: Int32)? {
        guard let slot = free.popLast() else { return nil }
        let index = Int(slot)
        slots[index].arrival = arrival
        slots[index].start = now
        slots[index].isBusy = true
        busyCount += 1
        return (slot, slots[index].epoch)
    }

    /// Ends the job of a slot; nil if its worker has failed since it started.
    mutating func end(_ index: Int32, epoch: Int32) -> Slot? {
        let slot = slots[Int(index)]
        guard slot.isBusy, slot.epoch == epoch else { return nil }
        slots[Int(index)].isBusy = false
        busyCount -= 1
        free.append(index)
        return slot
    }

    /// Fails a worker; returns the arrivals of the jobs that it loses.
    mutating func fail(_ worker: Int32) -> [Double] {
        let range = range(worker)
        var lost: [Double] = []
        for index in range {
            slots[Int(index)].epoch &+= 1
            guard slots[Int(index)].isBusy else { continue }
            slots[Int(index)].isBusy = false
            busyCount -= 1
            lost.append(slots[Int(index)].arrival)
        }
        free.removeAll { range.contains($0) }
        return lost
    }

    mutating func replace(_ worker: Int32) { free += range(worker) }

    private func range(_ worker: Int32) -> Range<Int32> {
        worker * slotsPerWorker..<(worker + 1) * slotsPerWorker
    }
}

/// Jobs that have no arrival: all wait from one moment on.
private struct Backlog {
    var waiting = 0
    var left: Int

    init(left: Int) { self.left = left }

    /// Takes the next job; returns false if none waits.
    mutating func next() -> Bool {
        guard waiting > 0 else { return false }
        waiting -= 1
        return true
    }
}

/// Measured values after the warm-up.
private struct Measurement {
    private var recorder: WaitRecorder
    var countedFrom = Double.infinity
    var lastArrival = 0.0
    private var busySeconds = 0.0
    var done = 0

    init(_ simulation: PoolSimulation) { recorder = WaitRecorder(simulation) }

    mutating func addBusy(_ slots: Int, from: Double, to: Double) {
        let from = max(from, countedFrom)
        if to > from { busySeconds += Double(slots) * (to - from) }
    }

    /// Adds an on-demand job that is done.
    mutating func add(wait: Double, arrival: Double) {
        guard arrival >= countedFrom else { return }
        recorder.add(wait, arrival: arrival)
        done += 1
    }

    mutating func finish(_ answer: inout SimulationResult, end: Double, now: Double, slots: Int) {
        let begin = min(countedFrom, end)
        recorder.finish(&answer, seconds: end - begin)
        if end > begin { answer.utilisation = busySeconds / (end - begin) / Double(slots) }
        if now > begin { answer.jobsPerSecond = Double(done) / (now - begin) }
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
