import CLinux
import Glibc

/// A lock on an open file (fcntl(2), open file description locks) that others can test without
/// taking it. It ends when the descriptor is closed, or when its process ends in any way.
package enum FileLock {
    /// Takes the lock of a file that is open for writing; returns 0 or an errno value.
    package static func take(_ descriptor: Int32) -> Int32 {
        dray_take_ofd_lock(descriptor) == 0 ? 0 : errno
    }

    /// Returns true if another process holds the lock of the file.
    package static func isHeld(_ descriptor: Int32) -> Bool {
        dray_is_ofd_locked(descriptor) == 1
    }
}
