import EventLoop
import Glibc
import Synchronization

/// Asks on the terminal that controls this process, whatever stdin and stdout are.
package enum TerminalQuestion {
    /// Answer to a question, or the reason for none.
    package enum Answer: Hashable, Sendable {
        /// The line that was typed, without its line feed.
        case line(String)
        case none
        /// The input ended without a line: Ctrl-D, or the terminal has gone.
        case endOfInput
        /// There is no terminal, or this process is not in its foreground; nothing was shown.
        case noTerminal
    }

    /// Maximum bytes of a line; a terminal's own limit is 4,096.
    private static let maximumBytes = 4_096

    /// Writes a prompt and reads one line. What was typed before is ignored.
    ///
    /// - Parameter duration: the longest wait, after which the answer is `none`, as it is once the
    ///   task was cancelled.
    package static func ask(_ prompt: String, atMost duration: Duration) async -> Answer {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard terminal >= 0 else { return .noTerminal }
        // A process in the background would be stopped by its read.
        guard tcgetpgrp(terminal) == getpgrp(), let loop = try? EventLoop(name: "terminal") else {
            close(terminal)
            return .noTerminal
        }
        defer { loop.shutdown() }
        tcflush(terminal, TCIFLUSH)
        writeAll(prompt, to: terminal)
        let typed = Typed()
        let source = ReadableSource(terminal, on: loop) { typed.read($0) }
        defer { source.cancel() }
        _ = await typed.isOver.wait(atMost: duration)
        return typed.answer
    }

    /// The typed text so far. Written on the loop, read by the task that waits.
    private final class Typed: Sendable {
        let isOver = ShutdownSignal()
        private let state = Mutex<(bytes: [UInt8], answer: Answer)>(([], .none))

        var answer: Answer { state.withLock { $0.answer } }

        /// Reads what is there; returns false once there is an answer.
        func read(_ descriptor: Int32) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 512)
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else {
                guard count < 0, errno == EAGAIN || errno == EINTR else {
                    return end(with: .endOfInput)
                }
                return true
            }
            let line: String? = state.withLock { state in
                state.bytes += buffer[..<count]
                let end = state.bytes.firstIndex(of: UInt8(ascii: "\n"))
                guard end != nil || state.bytes.count >= maximumBytes else { return nil }
                return String(decoding: state.bytes[..<(end ?? maximumBytes)], as: UTF8.self)
            }
            return line.map { end(with: .line($0)) } ?? true
        }

        private func end(with answer: Answer) -> Bool {
            state.withLock { $0.answer = answer }
            isOver.trigger()
            return false
        }
    }
}
