import JSON
package import Model
package import Planner

/// The content of a price file.
package enum PriceFile {
    case provider(PriceBook)
    case cdn(CDNPrices)
}

extension PriceReader {
    /// Returns the prices of CDNs that come with Dray, ordered by name.
    package static func embeddedCDNs() throws(Failure) -> [CDNPrices] {
        let files: [(String, [UInt8])] = [
            ("cloudfront.json", PackageResources.cloudfront_json),
            ("percentile.json", PackageResources.percentile_json),
        ]
        var books: [CDNPrices] = []
        for (name, bytes) in files {
            do throws(Failure) {
                books.append(try readCDN(bytes))
            } catch {
                throw Failure(error.code, "\(name): \(error.message)")
            }
        }
        return books
    }

    /// Reads a file of a provider, or of a CDN, which has `cdn` instead of `provider`. Throws as
    /// `read` does.
    package static func readFile(_ bytes: [UInt8]) throws(Failure) -> PriceFile {
        var cursor = JSONCursor(bytes)
        var isCDN = false
        _ = try cursor.peek()
        try cursor.expect(.object, "prices")
        try cursor.object { (cursor, name, _) throws(Failure) in
            if name == "cdn" { isCDN = true }
            try cursor.skip()
        }
        return isCDN ? .cdn(try readCDN(bytes)) : .provider(try read(bytes))
    }

    /// Throws `input.malformed` and `input.field` with line, column and field.
    static func readCDN(_ bytes: [UInt8]) throws(Failure) -> CDNPrices {
        var cursor = JSONCursor(bytes)
        let names = ["cdn", "name", "delivery"]
        let known = names + ["requests", "minimumPerMonth"]
        try cursor.expect(.object, "prices")
        let start = cursor.index
        var (id, title): (String?, String?) = (nil, nil)
        var delivery: CDNPrices.Delivery?
        var requests: CDNPrices.Requests?
        var minimum: PriceBook.Price?
        try cursor.object { (cursor, name, offset) throws(Failure) in
            switch name {
            case "cdn": id = try identifier(&cursor, name)
            case "name": title = try cursor.plainText(name, limit: 100)
            case "delivery": delivery = try readDelivery(&cursor)
            case "requests": requests = try readRequests(&cursor)
            case "minimumPerMonth": minimum = try MoneyText.price(&cursor, name)
            default: throw ScenarioReader.unknown(cursor, name, offset, in: "", known)
            }
        }
        try cursor.finish()
        guard let id, let title, let delivery else {
            throw cursor.fieldFailure(
                at: start, "prices", "is not whole", allowed: names.joined(separator: ", "))
        }
        return CDNPrices(
            id: id, name: title, delivery: delivery, requests: requests, minimum: minimum)
    }

    /// Reads `{unit, tiers}`, or `{perMegabit}` for a price by the 95th percentile.
    private static func readDelivery(
        _ cursor: inout JSONCursor
    ) throws(Failure) -> CDNPrices.Delivery {
        let known = ["unit", "includedPerMonth", "tiers", "perMegabit", "commitMegabits"]
        try cursor.expect(.object, "delivery")
        let start = cursor.index
        var unit: PriceBook.Unit?
        var included = 0.0
        var tiers: [PriceBook.Tier] = []
        var perMegabit: PriceBook.Price?
        var commit = 0.0
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "delivery.\(name)"
            switch name {
            case "unit": unit = try ScenarioReader.choice(&cursor, field, PriceBook.Unit.self)
            case "includedPerMonth": included = try cursor.decimalNumber(field, 0...1e12)
            case "tiers": tiers = try readTiers(&cursor, field)
            case "perMegabit": perMegabit = try MoneyText.price(&cursor, field)
            case "commitMegabits": commit = try cursor.decimalNumber(field, 0...1e9)
            default: throw ScenarioReader.unknown(cursor, name, offset, in: "delivery", known)
            }
        }
        if let perMegabit, unit == nil, tiers.isEmpty {
            return .percentile(
                CDNPrices.Percentile(perMegabit: perMegabit, commitMegabits: commit))
        }
        guard let unit, !tiers.isEmpty, perMegabit == nil else {
            throw cursor.fieldFailure(
                at: start, "delivery", "is not whole",
                allowed: "unit and tiers, or perMegabit")
        }
        return .volume(
            PriceBook.Egress(unit: unit, includedPerMachine: included, tiers: tiers))
    }

    private static func readRequests(
        _ cursor: inout JSONCursor
    ) throws(Failure) -> CDNPrices.Requests {
        let names = ["per", "price"]
        try cursor.expect(.object, "requests")
        let start = cursor.index
        var per: Double?
        var included = 0.0
        var price: PriceBook.Price?
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "requests.\(name)"
            switch name {
            case "per": per = try cursor.decimalNumber(field, 1...1e9)
            case "includedPerMonth": included = try cursor.decimalNumber(field, 0...1e15)
            case "price": price = try MoneyText.price(&cursor, field)
            default:
                throw ScenarioReader.unknown(
                    cursor, name, offset, in: "requests", names + ["includedPerMonth"])
            }
        }
        guard let per, let price else {
            throw cursor.fieldFailure(
                at: start, "requests", "is not whole", allowed: names.joined(separator: ", "))
        }
        return CDNPrices.Requests(per: per, price: price, included: included)
    }
}
