internal import FileSystem
internal import Glibc
internal import Model

extension Failure {
    /// What a failed system call at a site means; one place decides it.
    init(_ error: SystemError) {
        self.init(
            Failure.storageCode(for: error.code),
            "\(withoutQuery(error.operation)): \(error.reason)")
    }

    static func storageCode(for code: Int32) -> FailureCode {
        switch code {
        case ENOSPC, EDQUOT: "storage.full"
        // Of a file system, or by a limit of the process: others fit.
        case EFBIG: "storage.tooLarge"
        case EROFS: "storage.readOnly"
        case EACCES, EPERM: "storage.permission"
        case ENOTDIR, EISDIR, EEXIST, ENOTEMPTY: "storage.pathConflict"
        case ELOOP, EXDEV, ENAMETOOLONG, EINVAL, EILSEQ: "storage.pathRefused"
        // The process is at a limit of its own; the site is not to blame.
        case EMFILE, ENFILE, ENOMEM: "worker.internal"
        default: "storage.io"
        }
    }
}

/// Runs `body` and answers its system error as the failure it means.
func asFailure<Value>(
    _ body: () throws(SystemError) -> Value
) throws(Failure) -> Value {
    do throws(SystemError) { return try body() } catch { throw Failure(error) }
}

/// A key, or text that ends with one, as messages may show it: the name of an object whose URL had a
/// query holds that query, and with it what was signed.
package func withoutQuery(_ text: String) -> String {
    guard let question = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return text }
    return text[..<question] + "?…"
}
