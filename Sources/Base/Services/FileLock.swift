import CLinux
import Glibc

/// A lock on an open file (fcntl(2), open file description locks) that others can look at without
/// taking it. It ends when the descriptor is closed, or its process ends however it ends.
package enum FileLock {
    /// Takes the lock of a file that is open for writing; 0, or an errno value.
    package static func take(_ descriptor: Int32) -> Int32 {
        dray_take_ofd_lock(descriptor) == 0 ? 0 : errno
    }

    /// Tells whether somebody else holds the lock of the file.
    package static func isHeld(_ descriptor: Int32) -> Bool {
        dray_is_ofd_locked(descriptor) == 1
    }
}
