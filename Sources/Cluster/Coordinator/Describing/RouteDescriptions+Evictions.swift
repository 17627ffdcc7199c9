import API
import Model

extension RouteDescription {
    static let evictions: [String: RouteDescription] = [
        "POST /v1/sites/evictions": Self(
            "Removes assets of a site to make room, or lists which ones it would remove.",
            body: SiteEviction.self, .json(SiteEvictionAnswer.self)),
        "GET /v1/sites/popularity": Self(
            "Lists stored assets of a site by the bytes served for each byte stored.",
            query: [
                Parameter(
                    "site", Schema(.string, .characters(1...2_048)),
                    "The site: its queue or its storage URL."),
                .choice(
                    "order", PopularityOrder.self,
                    "The most popular ones first, or the least popular ones."),
                Parameter.page[1],
            ], .json(SitePopularity.self), failures: [404]),
        "POST /v1/sites/popularity": Self(
            "Adds requests that an access log of the site's web server shows.",
            body: SiteRequests.self, .json(SiteRequestsAnswer.self)),
    ]
}
