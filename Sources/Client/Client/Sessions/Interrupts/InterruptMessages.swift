/// The messages of a session that a signal stops.
package struct InterruptMessages: Sendable {
    /// What becomes of current work before the command ends; nil if it ends at once.
    var stopping: String?
    /// The result of the stop, and how to continue; nil if the session reports both.
    var interrupted: String?
    /// The same if another process stopped what it follows.
    var interruptedByAnother: String
    /// What a signal does to a catalog of a cluster besides detaching from it, for the question on a
    /// terminal; nil without such a choice: then there is no question.
    var choice: String?
}

extension InterruptMessages {
    /// For a submission.
    static let submission = InterruptMessages(
        stopping: "current transfers finish or are returned",
        interrupted: "interrupted; run the same command again to resume",
        interruptedByAnother:
            "another process interrupted the catalog; run the command again to resume",
        choice: "interrupt the catalog")

    /// For a submission that looks for files of another tool.
    static let adoption = InterruptMessages(
        stopping: "current comparisons and transfers finish or are returned",
        interrupted: "interrupted; run the same command again to adopt the other files",
        interruptedByAnother: submission.interruptedByAnother, choice: submission.choice)

    static let refresh = InterruptMessages(
        stopping: "the refresh is cancelled, and files that are being published are finished",
        interrupted: "the refresh was cancelled; run the same command again to repeat it",
        interruptedByAnother:
            "another process interrupted the catalog; submit it again, then refresh it",
        choice: "cancel the refresh")

    /// For a removal; the cluster continues it, unless it is a private one, which ends with its
    /// command.
    static func removal(isEmbedded: Bool) -> InterruptMessages {
        InterruptMessages(
            stopping: isEmbedded ? "files that are being deleted now are finished" : nil,
            interrupted: isEmbedded
                ? "interrupted; run the same command again to delete the remaining files" : nil,
            interruptedByAnother:
                "another process interrupted the catalog; run the command again to continue")
    }
}
