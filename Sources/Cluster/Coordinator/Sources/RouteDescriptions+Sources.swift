import API
import Model

extension RouteDescription {
    static let sources: [String: RouteDescription] = [
        "GET /v1/sources": Self(
            "Lists the sources of catalogs: lists at URLs that are read again and again.",
            query: Parameter.page, .json(SourcePage.self)),
        "GET /v1/sources/{catalog}": Self(
            "Returns the source of a catalog, with the result of the last reading.",
            .json(SourceStatus.self)),
        "POST /v1/sources/{catalog}": Self(
            "Sets the source of a catalog; a worker reads it at once, and again after each interval.",
            body: SourceSubmission.self, .json(SourceStatus.self)),
        "POST /v1/sources/{catalog}/read": Self(
            "Reads a source now.", body: NoFields.self, .json(SourceStatus.self)),
        "POST /v1/sources/{catalog}/remove": Self(
            "Removes a source; its catalog stays as it is.", body: NoFields.self,
            .json(SourceStatus.self)),
    ]

    static let sourceWork: [String: RouteDescription] = [
        "POST /v1/sources/{catalog}/leases": Self(
            "Leases a source that is due, unless another worker has it.",
            body: WorkLeaseRequest.self, .json(SourceGrant.self)),
        "POST /v1/sources/{catalog}/checks": Self(
            "Returns how many assets of a leased source's list the catalog has.",
            body: SourceCheck.self, .json(SourceChecked.self)),
        "POST /v1/sources/{catalog}/assets": Self(
            "Keeps a batch of a leased source's list until the list is applied.",
            query: [
                Parameter("worker", Schema(.string), "The worker's id.", isRequired: true),
                Parameter("lease", Schema(.string), "The lease's id.", isRequired: true),
            ], body: AssetBatch.self, .nothing),
        "POST /v1/sources/{catalog}/reports": Self(
            "Ends the reading of a leased source: the list is applied, unchanged, or has failed.",
            body: SourceReport.self, .nothing),
    ]
}
