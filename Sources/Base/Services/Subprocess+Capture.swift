import CLinux
import Glibc

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
        defer { close(ends[0]) }
        // Only this end: the program's own blocks while the pipe is full.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let pid: Int32
        do {
            defer { close(ends[1]) }
            pid = try spawn(arguments, output: ends[1])
        }
        let deadline = ContinuousClock.now + .seconds(seconds)
        var output: [UInt8] = []
        var isOutOfTime = false
        while true {
            let status = exitStatus(of: pid)
            drain(ends[0], into: &output, upTo: bytes)
            if let status {
                return Captured(
                    status: status, output: String(decoding: output, as: UTF8.self),
                    isOutOfTime: isOutOfTime)
            }
            if !isOutOfTime, ContinuousClock.now >= deadline { isOutOfTime = true }
            if isOutOfTime || Task.isCancelled { kill(-pid, SIGKILL) }
            // A cancelled sleep returns at once; the child will end very soon then.
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Reads the available bytes; at most a few buffers, so that the caller can check a program
    /// that writes endlessly.
    private static func drain(_ descriptor: Int32, into output: inout [UInt8], upTo bytes: Int) {
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
            for _ in 0..<16 {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                let room = max(0, bytes - output.count)
                output.append(contentsOf: buffer.prefix(min(count, room)))
            }
        }
    }
}
