internal import Foundation
package import Model
internal import S3

/// Settings of a process for its sites in buckets.
package struct BucketOptions: Sendable {
    /// Directory for bodies on their way; nil for `dray-spool-UID` of the directory for temporary
    /// files.
    package var spool: String?
    /// Variables of the process, with its credentials.
    package var environment: [String: String]

    package init(
        spool: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.spool = spool
        self.environment = environment
    }
}

/// Shared by a process's sites in buckets: connections, credentials, and a directory for
/// bodies on their way.
package final class BucketAccess: Sendable {
    let loop: UploadLoop
    let provider: CredentialProvider
    private let spoolDirectory: String

    package init(_ options: BucketOptions = BucketOptions()) throws(Failure) {
        let environment = options.environment
        loop = try UploadLoop(caFile: environment["AWS_CA_BUNDLE"])
        provider = CredentialProvider(
            environment: environment, loop: loop, now: { Int64(time(nil)) })
        spoolDirectory =
            options.spool ?? environment["DRAY_SPOOL"]
            ?? "\(environment["TMPDIR"] ?? "/tmp")/dray-spool-\(geteuid())"
    }

    deinit { loop.shutdown() }

    func spool(of volume: VolumeID) throws(Failure) -> StorageURL {
        try StorageURL(directory: "\(spoolDirectory)/\(volume)")
    }
}
