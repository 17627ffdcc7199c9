import Runtime

/// `dray plan`: what a cluster has to be, and the calculators that the plan is made with.
enum PlanCommand {
    static let command = Command(
        "plan", summary: "Calculate how many servers an audience needs.",
        subcommands: [PlanQueueCommand.command, PlanFitCommand.command])
}
