internal import CLinux

/// Events to watch a file descriptor for. Errors and hang-ups are always reported.
package struct Interest: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Interest(rawValue: EPOLLIN.rawValue)
    package static let writable = Interest(rawValue: EPOLLOUT.rawValue)
}

/// Events of a file descriptor from epoll; level-triggered, several can be set at once.
package struct Readiness: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The descriptor has a pending error (SO_ERROR).
    package static let error = Readiness(rawValue: EPOLLERR.rawValue)
    /// The peer has closed both directions; earlier data can still be read.
    package static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
}

/// A system call of the loop that failed.
package struct EventLoopError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The name of the system call.
    package let call: String
    /// Its `errno`.
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(String(cString: strerror(code)))" }
}
