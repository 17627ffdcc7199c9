internal import FileSystem
internal import Glibc
internal import Model

extension Failure {
    /// Creates the failure for a failed system call at a site.
    init(_ error: SystemError) {
        self.init(
            Failure.storageCode(for: error.code),
            "\(Redaction.path(error.operation)): \(error.reason)")
    }

    static func storageCode(for code: Int32) -> FailureCode {
        switch code {
        case ENOSPC, EDQUOT: .storageFull
        // A limit of the file system or of the process: other objects fit.
        case EFBIG: .storageTooLarge
        case EROFS: .storageReadOnly
        case EACCES, EPERM: .storagePermission
        case ENOTDIR, EISDIR, EEXIST, ENOTEMPTY: .storagePathConflict
        case ELOOP, EXDEV, ENAMETOOLONG, EINVAL, EILSEQ: .storagePathRefused
        // A limit of the process; the site has not failed.
        case EMFILE, ENFILE, ENOMEM: .workerInternal
        default: .storageIO
        }
    }
}

/// Runs `body` and converts its system error to a failure.
func asFailure<Value>(
    _ body: () throws(SystemError) -> Value
) throws(Failure) -> Value {
    do throws(SystemError) { return try body() } catch { throw Failure(error) }
}
