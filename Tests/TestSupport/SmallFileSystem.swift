internal import Glibc

/// A small tmpfs, mounted for one test.
package final class SmallFileSystem: Sendable {
    package let directory: TemporaryDirectory

    /// Mounts a tmpfs.
    ///
    /// - Parameter options: options of mount(8) for a tmpfs: `size=1m`.
    package init(options: String) async throws {
        directory = try TemporaryDirectory("mount")
        try await ChildProcess.run(
            ["mount", "-t", "tmpfs", "-o", options, "dray-test", directory.path])
    }

    /// Unmounts it as an operator does, which fails while a process has a file of it open. The
    /// directory stays.
    ///
    /// - Parameter tries: another test's child, between its fork and its exec, may keep a closed
    ///   file open.
    package func unmount(tries: Int = 100) async throws {
        for _ in 1..<tries {
            if (try? await ChildProcess.run(["umount", directory.path])) != nil { return }
            await Task.yield()
        }
        try await ChildProcess.run(["umount", directory.path])
    }

    /// Mounts another, empty one at the same location.
    package func mountAnother(options: String) async throws {
        try await ChildProcess.run(
            ["mount", "-t", "tmpfs", "-o", options, "dray-test", directory.path])
    }

    package func remount(_ options: String) async throws {
        // Another test's child, between its fork and its exec, may keep a closed file open: busy.
        for _ in 0..<100 {
            let attempt = ["mount", "-o", "remount,\(options)", directory.path]
            if (try? await ChildProcess.run(attempt)) != nil { return }
            await Task.yield()
        }
        try await ChildProcess.run(["mount", "-o", "remount,\(options)", directory.path])
    }

    /// Lazily, so that a test's open descriptors do not keep it mounted.
    deinit { umount2(directory.path, 2) }

    /// Returns true if this process may mount: as root outside of a confined container.
    package static func isAllowed() async -> Bool {
        guard geteuid() == 0 else { return false }
        return (try? await SmallFileSystem(options: "size=64k")) != nil
    }
}
