internal import Glibc

extension FileDescriptor {
    /// Takes the file's exclusive lock until this descriptor is closed, also by the death of the process; false where
    /// another descriptor has it, or the file system has no locks. Advisory, see flock(2). Never waits.
    package func tryLock() -> Bool { flock(rawValue, LOCK_EX | LOCK_NB) == 0 }
}
