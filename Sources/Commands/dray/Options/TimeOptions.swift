import Client
import CommandLine
import Model
import Schedule
import Services
import Text

/// Options for the start time and the deadline of a catalog.
enum TimeOptions {
    static let discussion = """
        TIME is a date and time with a time zone, 2026-11-22T18:00+01:00 or 2026-11-22T17:00Z, \
        or a duration from now: 90m, 6h, 2d.
        """
    static let notBefore = CommandOption(
        "not-before", .text(placeholder: "TIME"), help: "Do not start the catalog before this time."
    )
    static let deadline = CommandOption(
        "deadline", .text(placeholder: "TIME"),
        help: "When the catalog should be complete. Its priority rises up to 9 as the deadline "
            + "approaches.")

    static let expires = CommandOption(
        "expires", .text(placeholder: "TIME"),
        help: "Delete the files of this list's assets from the edge at this time.")
    static let keepFor = CommandOption(
        "keep-for", .text(placeholder: "DURATION"),
        help: "Delete the files of an asset this long after it was first complete: 90m, 48h, 30d.")

    /// Reads `--not-before` and `--expires`, in seconds since 1970. Returns `none` for that word if it
    /// is allowed. Throws `input.rights` if nothing could be fetched in between.
    static func window(
        _ arguments: Arguments, none: Double? = nil
    ) throws -> (notBefore: Double?, expires: Double?) {
        let begin = try time(notBefore.name, arguments, none: none)
        let end = try futureTime(expires.name, arguments, none: none)
        if let begin, let end, begin != none, end != none, end <= begin {
            let given = String((arguments.text(expires.name) ?? "").prefix(100))
            throw Failure(
                .inputRights,
                "--expires is '\(given)', which is not later than --not-before; allowed: a time "
                    + "after \(TimeText.minute(ofSeconds: begin))")
        }
        return (begin, end)
    }

    /// Reads `--keep-for DURATION` in seconds. Returns `none` for that word if it is allowed.
    static func keepSeconds(
        _ arguments: Arguments, none: Double? = nil
    ) throws(UsageError) -> Double? {
        guard let text = arguments.text(keepFor.name) else { return nil }
        if text == "none", let none { return none }
        guard let seconds = lengthOfTime(text), WireLimits.keepSeconds.contains(seconds) else {
            throw UsageError(
                "--\(keepFor.name) is '\(printable(String(text.prefix(100))))'",
                hint: "Write 90m, 48h or 30d, from 1s to 36500d\(none == nil ? "" : ", or none").")
        }
        return seconds
    }

    static let refreshAfter = CommandOption(
        "refresh-after", .text(placeholder: "DURATION"),
        help: "Check each asset at its origin this long after its last submission or check: 90m, "
            + "6h, 7d; origin: when its responses are no longer fresh.")

    /// Reads `--refresh-after DURATION`: its seconds, or true for `origin`; nil without it.
    static func refresh(
        _ arguments: Arguments
    ) throws(UsageError) -> (seconds: Double?, byOrigin: Bool?) {
        guard let text = arguments.text(refreshAfter.name) else { return (nil, nil) }
        if text == "origin" { return (nil, true) }
        guard let seconds = lengthOfTime(text), WireLimits.refreshSeconds.contains(seconds) else {
            throw UsageError(
                "--\(refreshAfter.name) is '\(printable(String(text.prefix(100))))'",
                hint: "Write 90m, 6h or 7d, from 1m to 365d, or origin.")
        }
        return (seconds, nil)
    }

    /// Reads `--name TIME` in seconds since 1970. Returns `none` for that word if it is allowed;
    /// nil without the option.
    ///
    /// - Parameter form: the forms that are allowed, for the hint.
    static func time(
        _ name: String, _ arguments: Arguments, none: Double? = nil,
        form: String = "2026-11-22T18:00+01:00, 2026-11-22T17:00Z, or a time from now: 6h",
        clock: any WallClock = SystemWallClock()
    ) throws(UsageError) -> Double? {
        guard let text = arguments.text(name) else { return nil }
        if text == "none", let none { return none }
        guard let time = pointInTime(text, now: clock.nowSeconds) else {
            throw UsageError(
                "--\(name) is '\(printable(String(text.prefix(100))))'",
                hint: "Use \(form)\(none == nil ? "" : ", or none").")
        }
        return time
    }

    /// Reads `--name TIME` of the past in seconds since 1970: a duration is one before now. Nil without
    /// the option.
    static func pastTime(
        _ name: String, _ arguments: Arguments, clock: any WallClock = SystemWallClock()
    ) throws(UsageError) -> Double? {
        let form = "2026-11-22T18:00+01:00, 2026-11-22T17:00Z, or how long ago: 90m, 6h, 2d"
        guard let time = try time(name, arguments, form: form, clock: clock) else { return nil }
        let isDuration = arguments.text(name).flatMap(lengthOfTime) != nil
        return isDuration ? max(2 * clock.nowSeconds - time, 1) : time
    }

    /// Reads `--name TIME` like `time`. Also throws for a time that has passed: a deadline could
    /// only be missed, and files would be deleted at once.
    static func futureTime(
        _ name: String, _ arguments: Arguments, none: Double? = nil,
        clock: any WallClock = SystemWallClock()
    ) throws(UsageError) -> Double? {
        let time = try time(name, arguments, none: none, clock: clock)
        let now = clock.nowSeconds
        guard let time, time != none, time <= now else { return time }
        let given = String((arguments.text(name) ?? "").prefix(100))
        throw UsageError(
            "--\(name) is '\(printable(given))', which has passed: it is "
                + "\(TimeText.minute(ofSeconds: now)) now",
            hint: "Give a time in the future, or omit --\(name).")
    }
}
