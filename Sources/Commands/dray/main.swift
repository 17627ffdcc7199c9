import CommandLine
import Glibc
import Services

// Before any thread starts: threads inherit the mask, and a signal that one thread does not block
// would end the process instead of draining it.
ProcessSignals.block()
OpenFiles.raiseLimit()

// Not a top-level await, which would start the concurrency runtime and its threads first. `_exit`,
// because exit handlers of C libraries would run while their threads still work.
Task.detached {
    _exit(await DrayCommand.run(Array(Swift.CommandLine.arguments.dropFirst())).rawValue)
}
while true { pause() }
