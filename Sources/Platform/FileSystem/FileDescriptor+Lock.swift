internal import Glibc

extension FileDescriptor {
    /// Takes the file's exclusive lock until this descriptor is closed, also by the process's
    /// death. Returns false if another descriptor has it, or if the file system has no locks.
    /// Advisory, see flock(2). Never waits.
    package func tryLock() -> Bool { flock(rawValue, LOCK_EX | LOCK_NB) == 0 }
}
