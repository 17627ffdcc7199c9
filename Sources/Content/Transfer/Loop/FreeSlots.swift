import Synchronization

/// The free slots of a loop, for other threads.
struct FreeSlots: ~Copyable {
    let capacity: Int
    private let free: Atomic<Int>
    /// True while a wake-up of the loop is scheduled.
    private let isWoken = Atomic<Bool>(false)

    init(capacity: Int) {
        self.capacity = capacity
        free = Atomic(capacity)
    }

    /// Records the number of running transfers; returns that of free slots.
    @discardableResult
    func note(active: Int) -> Int {
        let slots = capacity - active
        free.store(slots, ordering: .relaxed)
        return slots
    }

    /// Returns true if the loop has a free slot and must be woken.
    func takeWake() -> Bool {
        free.load(ordering: .relaxed) > 0
            && !isWoken.exchange(true, ordering: .acquiringAndReleasing)
    }

    /// Records that the loop wakes up.
    func wake() { isWoken.store(false, ordering: .releasing) }
}
