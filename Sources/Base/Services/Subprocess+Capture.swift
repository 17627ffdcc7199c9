import CLinux
import EventLoop
import Glibc
import Synchronization

extension Subprocess {
    /// The result of a program that ended.
    package struct Captured: Sendable {
        /// Exit status as in `run`.
        package var status: Int32
        /// stdout and stderr in the order of arrival, up to the bound.
        package var output: String
        /// True if it was killed after a timeout.
        package var isOutOfTime: Bool

        package init(status: Int32, output: String, isOutOfTime: Bool) {
            self.status = status
            self.output = output
            self.isOutOfTime = isOutOfTime
        }
    }

    /// Runs a program to its end and returns its output, up to `bytes`; the rest is ignored.
    ///
    /// After `seconds`, or when the task is cancelled, the program and its children are killed and
    /// reaped.
    package static func capture(
        _ arguments: [String], bytes: Int, seconds: Double
    ) async throws(SubprocessError) -> Captured {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else {
            throw SubprocessError(program: arguments[0], code: errno)
        }
        // Only this end: the program's own blocks while the pipe is full.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let output = CapturedOutput(limit: bytes)
        let (child, source): (Child, ReadableSource)
        do {
            defer { close(ends[1]) }
            let loop = try ProcessEvents.loop()
            child = try spawn(arguments, output: ends[1])
            source = ReadableSource(ends[0], on: loop) { output.read($0) }
        } catch {
            close(ends[0])
            throw error as? SubprocessError
                ?? SubprocessError(
                    program: arguments[0], code: (error as? EventLoopError)?.code ?? EIO)
        }
        let hasEnded = await child.end.wait(atMost: .seconds(seconds))
        let isOutOfTime = !hasEnded && !Task.isCancelled
        await child.kill()
        // What it wrote last; the descriptor is open until the source is cancelled.
        _ = output.read(ends[0])
        source.cancel()
        return Captured(
            status: child.reap(), output: String(decoding: output.bytes, as: UTF8.self),
            isOutOfTime: isOutOfTime)
    }
}

/// The output of a program, read as it arrives.
private final class CapturedOutput: Sendable {
    private let limit: Int
    private let kept = Mutex<[UInt8]>([])

    init(limit: Int) { self.limit = limit }

    var bytes: [UInt8] { kept.withLock { $0 } }

    /// Reads the available bytes; at most a few buffers, because a program may write endlessly.
    /// Returns false at the end.
    func read(_ descriptor: Int32) -> Bool {
        kept.withLock { kept in
            withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
                for _ in 0..<16 {
                    let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                    guard count > 0 else { return count < 0 }
                    let room = max(0, limit - kept.count)
                    kept.append(contentsOf: buffer.prefix(min(count, room)))
                }
                return true
            }
        }
    }
}
