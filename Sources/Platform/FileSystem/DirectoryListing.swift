internal import Glibc

/// Names in a directory, in the order of their bytes; a directory counts as its name with a slash,
/// so that the paths of a whole tree come in the order of their bytes. A value.
///
/// At most twice `limit` names are in memory. A larger directory is read again for each `limit`
/// names.
package struct DirectoryListing: Sendable {
    package struct Entry: Sendable {
        fileprivate var offset: Int
        /// Length of the name in bytes.
        package fileprivate(set) var length: Int
        package fileprivate(set) var isDirectory: Bool
    }

    /// The names, each with a NUL behind it.
    private var names: [UInt8] = []
    package private(set) var entries: [Entry] = []
    /// True if the directory has names after these.
    package private(set) var hasMore = false

    /// Reads the first `limit` names, or those after `last`, an entry of an earlier listing: the
    /// bytes of its name, with a slash for a directory.
    package init(
        of directory: FileDescriptor, after last: [UInt8] = [], limit: Int = 500_000
    ) throws(SystemError) {
        // The stream has its own descriptor, and so its own position.
        let copy = try retrying("open .") {
            openat(directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        guard let stream = fdopendir(copy) else {
            let error = SystemError.last("fdopendir")
            Glibc.close(copy)
            throw error
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw SystemError.last("readdir") }
                break
            }
            add(entry, of: directory, after: last)
            if entries.count >= 2 * limit { keepFirst(limit) }
        }
        sort()
        if entries.count > limit { keepFirst(limit) }
    }

    private mutating func add(
        _ entry: UnsafeMutablePointer<dirent>, of directory: FileDescriptor, after last: [UInt8]
    ) {
        let type = Int32(entry.pointee.d_type)
        withUnsafePointer(to: &entry.pointee.d_name) { tuple in
            tuple.withMemoryRebound(to: UInt8.self, capacity: 256) { name in
                let length = strnlen(
                    UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self), 256)
                let isDot = name[0] == UInt8(ascii: ".")
                if isDot, length == 1 || length == 2 && name[1] == UInt8(ascii: ".") { return }
                let new = Entry(
                    offset: names.count, length: length,
                    isDirectory: Self.isDirectory(type, name, of: directory))
                if !last.isEmpty {
                    let isLater = last.withUnsafeBufferPointer { last in
                        let key = last.dropLast(last.last == UInt8(ascii: "/") ? 1 : 0)
                        return Self.precedes(
                            UnsafeBufferPointer(rebasing: key), key.count < last.count,
                            UnsafeBufferPointer(start: name, count: length), new.isDirectory)
                    }
                    guard isLater else { return }
                }
                names.append(contentsOf: UnsafeBufferPointer(start: name, count: length))
                names.append(0)
                entries.append(new)
            }
        }
    }

    private static func isDirectory(
        _ type: Int32, _ name: UnsafePointer<UInt8>, of directory: FileDescriptor
    ) -> Bool {
        // Some file systems do not report it.
        guard type == Int32(DT_UNKNOWN) else { return type == Int32(DT_DIR) }
        var status = stat()
        let text = UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self)
        return fstatat(directory.rawValue, text, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IFMT == S_IFDIR
    }

    private mutating func keepFirst(_ limit: Int) {
        sort()
        hasMore = true
        var kept: [UInt8] = []
        for index in 0..<limit {
            let entry = entries[index]
            entries[index].offset = kept.count
            kept.append(contentsOf: names[entry.offset...(entry.offset + entry.length)])
        }
        names = kept
        entries.removeSubrange(limit...)
    }

    private mutating func sort() {
        names.withUnsafeBufferPointer { names in
            func name(_ entry: Entry) -> UnsafeBufferPointer<UInt8> {
                UnsafeBufferPointer(rebasing: names[entry.offset..<entry.offset + entry.length])
            }
            entries.sort {
                Self.precedes(name($0), $0.isDirectory, name($1), $1.isDirectory)
            }
        }
    }

    private static func precedes(
        _ one: UnsafeBufferPointer<UInt8>, _ oneIsDirectory: Bool,
        _ other: UnsafeBufferPointer<UInt8>, _ otherIsDirectory: Bool
    ) -> Bool {
        let common = min(one.count, other.count)
        if common > 0, let left = one.baseAddress, let right = other.baseAddress {
            let order = memcmp(left, right, common)
            if order != 0 { return order < 0 }
        }
        let slash = UInt8(ascii: "/")
        let left =
            one.count > common ? Int(one[common]) : oneIsDirectory ? Int(slash) : -1
        let right =
            other.count > common ? Int(other[common]) : otherIsDirectory ? Int(slash) : -1
        return left < right
    }

    /// Calls `body` with an entry's name, NUL-terminated.
    package func withName<Result>(
        _ entry: Entry, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        names.withUnsafeBufferPointer {
            body(UnsafeBufferPointer(rebasing: $0[entry.offset..<entry.offset + entry.length]))
        }
    }

    /// Returns the bytes of an entry's name, with a slash for a directory.
    package func sortedName(of entry: Entry) -> [UInt8] {
        let name = withName(entry) { Array($0) }
        return entry.isDirectory ? name + [UInt8(ascii: "/")] : name
    }

    /// Returns the status of an entry in its directory, without following a symlink; nil if it is
    /// gone.
    package func status(
        of entry: Entry, in directory: FileDescriptor
    ) throws(SystemError) -> FileStatus? {
        var status = stat()
        let result = withName(entry) { name -> Int32 in
            guard let base = name.baseAddress else { return -1 }
            return fstatat(
                directory.rawValue,
                UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self), &status,
                AT_SYMLINK_NOFOLLOW)
        }
        guard result == 0 else {
            if errno == ENOENT { return nil }
            throw SystemError.last("stat")
        }
        return FileStatus(status)
    }

    /// Opens an entry that is a directory; nil if it is gone or something else by now.
    package func openDirectory(
        _ entry: Entry, in directory: FileDescriptor
    ) throws(SystemError) -> FileDescriptor? {
        let descriptor = withName(entry) { name -> Int32 in
            guard let base = name.baseAddress else { return -1 }
            return openat(
                directory.rawValue,
                UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self),
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        guard descriptor >= 0 else {
            if [ENOENT, ENOTDIR, ELOOP].contains(errno) { return nil }
            throw SystemError.last("open directory")
        }
        return FileDescriptor(owning: descriptor)
    }
}
