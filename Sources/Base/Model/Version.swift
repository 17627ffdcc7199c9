/// Version of this binary, as `dray --version` prints it.
package let drayVersion = "0.1.0"

/// Date of this version, for its manual pages; of no clock, so that a build can be repeated.
package let drayVersionDate = "2026-11-22"
