import CommandLine
import Glibc
import Services

ProcessSignals.block()

// As `dray` does: not a top-level await, and `_exit`.
Task.detached {
    _exit(await BenchmarkTool.run(Array(Swift.CommandLine.arguments.dropFirst())).rawValue)
}
while true { pause() }
