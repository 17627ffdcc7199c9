/// State of a catalog's part of a directory's checksum file; none before its assets there have ended.
package enum ChecksumFileState: String, Codable, CaseIterable, Sendable {
    /// The file has to be written: its assets there have ended or were removed since it was read. Can move to due, read.
    case due
    /// A worker has its turn to write the file, and has read this part. Can move to due, written.
    case read
    /// The file has this part. Can move to due.
    case written
}

/// An event of a catalog's part of a directory's checksum file.
package enum ChecksumFileEvent: String, Codable, CaseIterable, Sendable {
    /// The last of its outstanding assets there has ended.
    case settle
    /// A worker's turn to write the file begins.
    case read
    /// The worker has written the file.
    case write
    /// An operator retries it, an audit found the file missing or damaged, or it names files that
    /// are deleted while other assets there have not ended.
    case rewrite
}

extension ChecksumFileState {
    package static let machine = StateMachine<ChecksumFileState, ChecksumFileEvent>(
        name: "checksum file", initial: .due,
        table: [
            .due: [.settle: .due, .read: .read, .rewrite: .due],
            .read: [.settle: .due, .write: .written, .rewrite: .due],
            .written: [.settle: .due, .rewrite: .due],
        ])
}
