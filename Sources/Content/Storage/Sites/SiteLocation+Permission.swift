internal import FileSystem
internal import Glibc
internal import Model
internal import Services

extension SiteLocation {
    /// Returns a failure with the user and the directory that denies access. Other workers may
    /// still write there.
    func permissionFailure(_ cause: Failure) -> Failure {
        var message = "user \(Self.account(geteuid())) may not write to \(path)"
        if let (directory, status) = blockingDirectory() {
            let owner = Self.account(status.owner)
            message +=
                ": \(directory) belongs to \(owner) with mode "
                + String(status.permissions & 0o7777, radix: 8)
        } else {
            message += ": \(cause.message)"
        }
        return Failure(.storageSitePermission, message)
    }

    /// Returns the first directory on the path that this user may not enter, else the last existing
    /// one if it is not writable. Nil if neither applies, and something else prevents access.
    private func blockingDirectory() -> (String, FileStatus)? {
        var way = ""
        var last: (String, FileStatus)?
        for component in pathComponents(of: path) {
            way += "/" + component
            guard let status = try? FileStatus.of(way) else { break }
            last = (way, status)
            if faccessat(AT_FDCWD, way, X_OK, AT_EACCESS) != 0 { return last }
        }
        guard let last, faccessat(AT_FDCWD, last.0, R_OK | W_OK, AT_EACCESS) != 0 else {
            return nil
        }
        return last
    }

    /// Returns text such as `dray (998)`; only the number if the user has no name.
    private static func account(_ user: UInt32) -> String {
        let name = accountName(of: user)
        return name == String(user) ? name : "\(name) (\(user))"
    }
}
