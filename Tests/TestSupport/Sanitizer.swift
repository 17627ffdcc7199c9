import Foundation

/// What `scripts/test --sanitize` has built the tests with.
package enum Sanitizer {
    /// It takes several times the memory and the time: what a test measures of either means nothing then.
    package static let isOn = ProcessInfo.processInfo.environment["DRAY_SANITIZER"] != nil
}
