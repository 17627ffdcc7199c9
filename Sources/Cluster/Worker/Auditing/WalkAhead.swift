import Model
import Storage

/// Walks a site ahead of the comparison, for which records are listed meanwhile. Keeps a bounded
/// number of bytes.
actor WalkAhead {
    private let walk: StorageWalk
    private let blocking: BlockingCalls
    private let pace: AuditPace
    private var batches: [WalkBatch] = []
    private var waitingBytes = 0
    private var end: Result<Void, Failure>?
    private var reader: CheckedContinuation<Void, Never>?
    private var writer: CheckedContinuation<Void, Never>?

    /// Maximum bytes of batches that wait; a file takes some 30.
    private static let maxBytes = 32 << 20

    init(_ walk: StorageWalk, blocking: BlockingCalls, pace: AuditPace) {
        self.walk = walk
        self.blocking = blocking
        self.pace = pace
    }

    /// Walks until the end of the site, or until `stop`.
    func run() async {
        while end == nil {
            let (walk, files) = (walk, pace)
            let result = await blocking.run {
                Result { () throws(Failure) in try walk.next() }
            }
            guard end == nil else { return }
            switch result {
            case .success(let batch?):
                waitingBytes += batch.bytes.count
                batches.append(batch)
                reader.take()?.resume()
                await files.walked(batch)
                if waitingBytes >= Self.maxBytes, end == nil {
                    await withCheckedContinuation { writer = $0 }
                }
            case .success(nil): finish(.success(()))
            case .failure(let failure): finish(.failure(failure))
            }
        }
    }

    private func finish(_ result: Result<Void, Failure>) {
        if end == nil { end = result }
        reader.take()?.resume()
        writer.take()?.resume()
    }

    /// Ends the walk; `next` returns nil from then on.
    func stop() {
        batches = []
        finish(.success(()))
    }

    /// Returns all batches that wait; none at the end.
    func next() async throws(Failure) -> [WalkBatch] {
        while batches.isEmpty, end == nil {
            await withCheckedContinuation { reader = $0 }
        }
        let taken = batches
        batches = []
        waitingBytes = 0
        writer.take()?.resume()
        if taken.isEmpty { try end?.get() }
        return taken
    }
}

/// Keeps an audit to its limits of files and bytes per second.
struct AuditPace: Sendable {
    /// Nil for no limit.
    let filesPerSecond: Int?
    let readBytesPerSecond: Int64?
    private let begun = ContinuousClock.now
    private let walked = Shared<Int>(0)
    private let read = Shared<Int64>(0)

    init(filesPerSecond: Int?, readBytesPerSecond: Int64?) {
        self.filesPerSecond = filesPerSecond
        self.readBytesPerSecond = readBytesPerSecond
    }

    /// Waits until the files of a batch are within the limit.
    func walked(_ batch: WalkBatch) async {
        guard let filesPerSecond else { return }
        // A name has some 16 bytes; counting the records would read them all.
        let files = walked.withLock { sum in
            sum += max(batch.bytes.count / (WalkBatch.headerBytes + 16), 1)
            return sum
        }
        await wait(until: Double(files) / Double(filesPerSecond))
    }

    /// Waits until these bytes are within the limit.
    func read(_ bytes: Int64) async {
        guard let readBytesPerSecond else { return }
        let total = read.withLock { sum in
            sum += bytes
            return sum
        }
        await wait(until: Double(total) / Double(readBytesPerSecond))
    }

    private func wait(until seconds: Double) async {
        // A short sleep is not exact; what is missed is made up for.
        let due = begun + .seconds(seconds)
        let rest = ContinuousClock.now.duration(to: due)
        if rest > .milliseconds(5) { try? await Task.sleep(for: rest) }
    }
}
