internal import FileSystem
internal import Glibc
internal import Model
internal import Services

extension SitePlace {
    /// Names the user and the directory that keeps it out, whatever the site's jobs are: other workers may write there.
    func permissionFailure(_ cause: Failure) -> Failure {
        var message = "user \(Self.account(geteuid())) may not write to \(path)"
        if let (directory, status) = obstacle() {
            let owner = Self.account(status.owner)
            message +=
                ": \(directory) belongs to \(owner) with mode "
                + String(status.permissions & 0o7777, radix: 8)
        } else {
            message += ": \(cause.message)"
        }
        return Failure("storage.sitePermission", message)
    }

    /// The first directory on the way that this user may not enter, or else the last that is there, where it may not
    /// write. Nil where neither is so, and something else keeps it out.
    private func obstacle() -> (String, FileStatus)? {
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

    /// `dray (998)`; the number alone where it has no name.
    private static func account(_ user: UInt32) -> String {
        let name = accountName(of: user)
        return name == String(user) ? name : "\(name) (\(user))"
    }
}
