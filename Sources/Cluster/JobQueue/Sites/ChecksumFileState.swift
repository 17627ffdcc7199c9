/// State of a catalog's part of a directory's checksum file; none before its assets there have ended.
enum ChecksumFileState: String, CaseIterable {
    /// All its assets there have ended since the file was read.
    case due
    /// A worker has its turn to write the file, and has read this part.
    case read
    /// The file has this part.
    case written
}
