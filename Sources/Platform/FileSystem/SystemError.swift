internal import CLinux
internal import Glibc

/// A system call that failed.
package struct SystemError: Error, Hashable, Sendable {
    /// The `errno` value.
    package let code: Int32
    /// The call with its subject: `rename origin.example/a.ts`.
    package let operation: String

    package init(code: Int32, operation: String) {
        self.code = code
        self.operation = operation
    }

    /// Returns the error of the call that has just failed on this thread.
    ///
    /// - Parameter operation: Evaluated after `errno` was read.
    package static func last(_ operation: @autoclosure () -> String) -> SystemError {
        let code = errno
        return SystemError(code: code, operation: operation())
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "\(operation): \(reason)" }

    /// The system's text for `code`, in English for any locale.
    package var reason: String {
        guard let text = strerrordesc_np(code) else { return "error \(code)" }
        return String(cString: text)
    }
}

/// Runs a call that returns -1 on failure; repeats it after an interruption by a signal.
func retrying<Value: FixedWidthInteger>(
    _ operation: @autoclosure () -> String, _ call: () -> Value
) throws(SystemError) -> Value {
    while true {
        let value = call()
        if value >= 0 { return value }
        let code = errno
        if code != EINTR { throw SystemError(code: code, operation: operation()) }
    }
}
