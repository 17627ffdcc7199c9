import Services

extension MetricRegistry {
    /// Declares the figures of this process, under the names that Prometheus's clients use, and the
    /// version.
    package func declareProcess(version: String) {
        info("dray_build", [("version", version)], "The version of this binary.")
        counter("process_cpu_seconds", "CPU time of this process.") {
            ProcessFigures.cpuSeconds
        }
        gauge("process_resident_memory_bytes", "Resident memory of this process.") {
            ProcessFigures.residentBytes
        }
        gauge("process_open_fds", "Open file descriptors.") { ProcessFigures.openDescriptors }
        gauge("process_max_fds", "Maximum of open file descriptors.") {
            Double(OpenFiles.limits.soft)
        }
        gauge("process_start_time_seconds", "Start of this process, in seconds since 1970.") {
            ProcessFigures.startSeconds
        }
    }
}
