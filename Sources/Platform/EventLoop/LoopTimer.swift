/// A one-shot timer of one loop, created by `EventLoop.makeTimer`, that can be armed repeatedly
/// without an allocation.
///
/// Confined to its loop: every method checks that it runs there.
package final class LoopTimer {
    private let loop: EventLoop
    let action: () -> Void
    /// Time on CLOCK_MONOTONIC at which it fires; meaningful while `heapIndex` is not negative.
    var deadline: UInt64 = 0
    /// Index in the loop's heap; -1 if it is not armed.
    var heapIndex = -1

    init(loop: EventLoop, action: @escaping () -> Void) {
        self.loop = loop
        self.action = action
    }

    package var isArmed: Bool { heapIndex >= 0 }

    /// Arms the timer, or moves an armed one.
    package func schedule(afterSeconds seconds: Double) {
        loop.arm(self, deadline: MonotonicClock.deadlineNanoseconds(afterSeconds: seconds))
    }

    /// Disarms the timer. Harmless if it is not armed or has fired.
    package func cancel() {
        loop.disarm(self)
    }
}

/// A binary min-heap of timers by deadline; each timer knows its index, so that removal is O(log
/// n).
struct TimerHeap {
    private var timers: [LoopTimer] = []

    var first: LoopTimer? { timers.first }

    mutating func insert(_ timer: LoopTimer) {
        timer.heapIndex = timers.count
        timers.append(timer)
        siftUp(timers.count - 1)
    }

    mutating func remove(_ timer: LoopTimer) {
        let index = timer.heapIndex
        guard index >= 0 else { return }
        let last = timers.removeLast()
        timer.heapIndex = -1
        guard last !== timer else { return }
        timers[index] = last
        last.heapIndex = index
        siftDown(index)
        siftUp(last.heapIndex)
    }

    mutating func removeAll() {
        for timer in timers { timer.heapIndex = -1 }
        timers.removeAll()
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard timers[index].deadline < timers[parent].deadline else { return }
            exchange(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            let left = 2 * index + 1
            guard left < timers.count else { return }
            let right = left + 1
            let least =
                right < timers.count && timers[right].deadline < timers[left].deadline
                ? right : left
            guard timers[least].deadline < timers[index].deadline else { return }
            exchange(index, least)
            index = least
        }
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        timers.swapAt(one, other)
        timers[one].heapIndex = one
        timers[other].heapIndex = other
    }
}
