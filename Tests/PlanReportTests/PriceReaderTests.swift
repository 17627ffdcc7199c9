import Foundation
import Model
import Planner
import Testing

@testable import PlanReport

@Suite struct PriceReaderTests {
    @Test func whatComesWithDrayCanBeRead() throws {
        let books = try PriceReader.embedded()
        #expect(books.map(\.id) == ["alibaba", "aws", "gcp", "hetzner", "on-premises"])
        for book in books {
            for (what, price) in book.prices {
                #expect(price.amount > 0 && !price.source.isEmpty, "\(book.id): \(what)")
            }
        }
    }

    /// 9, 8.5, 7 and 5 cents a GB up to 10, 50, 150 TB and beyond.
    @Test(arguments: [
        (0.0, 0.0), (1e9, 0.09), (10e12, 900.0), (50e12, 4_300), (150e12, 11_300),
        (151e12, 11_350),
    ])
    func egressCostsWhatItsTiersSay(bytes: Double, dollars: Double) throws {
        let aws = try #require(try PriceReader.embedded().first { $0.id == "aws" })
        let cost = aws.egress.cost(bytes: bytes, machines: 3)
        #expect(abs((cost.amounts["USD"] ?? 0) - dollars) < 1e-9)
    }

    @Test func includedTrafficIsFree() throws {
        let hetzner = try #require(try PriceReader.embedded().first { $0.id == "hetzner" })
        #expect(hetzner.egress.cost(bytes: 40e12, machines: 2).amounts["EUR"] ?? 0 == 0)
        let beyond = hetzner.egress.cost(bytes: 100e12, machines: 2).amounts["EUR"] ?? 0
        #expect(abs(beyond - (100 - 2 * 21.99)) < 1e-9)
    }

    private static let whole = """
        {"provider": "x", "name": "X",
         "instance": {"type": "t", "cores": 4, "memoryGigabytes": 16, "month": PRICE},
         "storage": {"type": "s", "unit": "GB", "unitMonth": PRICE},
         "egress": {"unit": "GB", "tiers": [{"upTo": 10, "price": PRICE}, {"price": PRICE}]}}
        """
    private static let price = """
        {"amount": 1, "currency": "EUR", "date": "2026-11", "source": "here"}
        """

    private static func file(_ old: String = "", _ new: String = "") -> [UInt8] {
        var text = whole.split(separator: "PRICE", omittingEmptySubsequences: false)
            .joined(separator: price)
        if !old.isEmpty, let place = text.firstRange(of: old) {
            text.replaceSubrange(place, with: new)
        }
        return Array(text.utf8)
    }

    @Test func aPriceFileCanBeReplaced() throws {
        let book = try PriceReader.read(Self.file())
        #expect(book.id == "x")
        #expect(book.egress.tiers.count == 2)
        #expect(book.instance.perMonth.currency == "EUR")
    }

    @Test(arguments: [
        ("\"currency\": \"EUR\"", "\"currency\": \"Euro\"", "instance.month.currency"),
        ("\"date\": \"2026-11\"", "\"date\": \"2026-13\"", "instance.month.date"),
        ("\"amount\": 1", "\"amount\": -1", "instance.month.amount"),
        ("\"amount\": 1, ", "", "without amount"),
        ("\"provider\": \"x\"", "\"provider\": \"X y\"", "lower-case letters"),
        ("\"provider\": \"x\", ", "", "without provider"),
        ("\"unit\": \"GB\"", "\"unit\": \"Gb\"", "GB, GiB, TB, TiB"),
        ("\"upTo\": 10, ", "", "more than the previous tier"),
        ("\"tiers\"", "\"teirs\"", "Did you mean tiers?"),
        ("\"cores\": 4", "\"cores\": 0", "instance.cores"),
    ])
    func aPriceFileIsCheckedStrictly(old: String, new: String, message: String) {
        let error = #expect(throws: Failure.self) { try PriceReader.read(Self.file(old, new)) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    private static func cdn(_ delivery: String, _ more: String = "") -> [UInt8] {
        let text = #"{"cdn": "c", "name": "C", "delivery": \#(delivery)\#(more)}"#
        return Array(
            text.split(separator: "PRICE", omittingEmptySubsequences: false)
                .joined(separator: price).utf8)
    }

    @Test func cdnsAreReadByTheirWayOfBilling() throws {
        #expect(try PriceReader.embeddedCDNs().map(\.id) == ["cloudfront", "percentile"])
        let tiers = #"{"unit": "GB", "includedPerMonth": 5, "tiers": [{"price": PRICE}]}"#
        let more = #", "requests": {"per": 100, "price": PRICE}, "minimumPerMonth": PRICE"#
        guard case .cdn(let volume) = try PriceReader.readFile(Self.cdn(tiers, more)),
            case .volume(let egress) = volume.delivery
        else {
            Issue.record("no CDN by volume")
            return
        }
        #expect(egress.includedPerMachine == 5 && egress.tiers.count == 1)
        #expect(volume.requests?.per == 100 && volume.minimum?.amount == 1)
        let peak = try PriceReader.readFile(
            Self.cdn(#"{"perMegabit": PRICE, "commitMegabits": 10}"#))
        guard case .cdn(let book) = peak, case .percentile(let percentile) = book.delivery else {
            Issue.record("no CDN by percentile")
            return
        }
        #expect(percentile.commitMegabits == 10)
        guard case .provider(let provider) = try PriceReader.readFile(Self.file()) else {
            Issue.record("no provider")
            return
        }
        #expect(provider.id == "x" && provider.edgeServers.isEmpty)
    }

    @Test(arguments: [
        ("{}", "", "unit and tiers, or perMegabit"),
        (#"{"unit": "GB", "tiers": [{"price": PRICE}], "perMegabit": PRICE}"#, "", "is not whole"),
        (#"{"perMegabit": PRICE, "commitMegabit": 5}"#, "", "Did you mean commitMegabits?"),
        (#"{"perMegabit": PRICE}"#, #", "requests": {"per": 0, "price": PRICE}"#, "requests.per"),
        (#"{"perMegabit": PRICE}"#, #", "requests": {"per": 10}"#, "requests"),
        (#"{"perMegabit": PRICE}"#, #", "minimumPerMont": PRICE"#, "Did you mean minimumPerMonth?"),
    ])
    func aFileOfACDNIsCheckedStrictly(delivery: String, more: String, message: String) {
        let error = #expect(throws: Failure.self) {
            try PriceReader.readFile(Self.cdn(delivery, more))
        }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test func kindsOfEdgeServersAreRead() throws {
        let kind = #"{"type": "e", "cores": 32, "memoryGigabytes": 64, "month": PRICE}"#
            .replacing("PRICE", with: Self.price)
        let book = try PriceReader.read(
            Self.file("\"storage\"", "\"edgeServers\": [\(kind)], \"storage\""))
        #expect(book.edgeServers.map(\.cores) == [32])
        let error = #expect(throws: Failure.self) {
            try PriceReader.read(Self.file("\"storage\"", "\"edgeServers\": [{}], \"storage\""))
        }
        #expect(error?.message.contains("edgeServers[0]") == true)
    }

    /// One currency for all, unless rates are given.
    @Test func missingRatesAreCompleted() {
        var money = Scenario.MoneyChoice()
        ExchangeRates.complete(&money)
        #expect(money.currency == "EUR" && money.exchangeDate == "2025-02-21")
        #expect(money.exchange["USD"].map { abs($0 - 1 / 1.0465) < 1e-12 } == true)
        var dollars = Scenario.MoneyChoice()
        dollars.currency = "USD"
        ExchangeRates.complete(&dollars)
        #expect(dollars.exchange == ["EUR": 1.0465])
        var given = Scenario.MoneyChoice()
        (given.currency, given.exchange) = ("EUR", ["USD": 0.9])
        ExchangeRates.complete(&given)
        #expect(given.exchange == ["USD": 0.9] && given.exchangeSource == nil)
        var other = Scenario.MoneyChoice()
        other.currency = "CHF"
        ExchangeRates.complete(&other)
        #expect(other.currency == "CHF" && other.exchange.isEmpty)
    }

    @Test func oldRatesAreNamed() {
        var money = Scenario.MoneyChoice()
        ExchangeRates.complete(&money)
        #expect(ExchangeRates.warning(money, today: "2026-02-21") == nil)
        #expect(
            ExchangeRates.warning(money, today: "2026-02-22")
                == "The exchange rate is from 2025-02-21, over a year ago: set money.exchange.")
        for (date, isOld) in [
            ("2025-11", false), ("2025-10", true), ("2025", false), ("2024", true),
        ] {
            money.exchangeDate = date
            #expect((ExchangeRates.warning(money, today: "2026-11-29") != nil) == isOld, "\(date)")
        }
        money.exchangeDate = nil
        #expect(ExchangeRates.warning(money, today: "2026-11-29") == nil)
    }

    /// Without any rate, and only if there is something to convert.
    @Test func aCurrencyWithoutARateIsRefused() throws {
        var scenario = Scenario()
        (scenario.money.currency, scenario.money.provider) = ("XYZ", "hetzner")
        var options = Plan.Options()
        (options.prices, options.draws, options.months) = (try PriceReader.embedded(), 0, 0)
        let failure = #expect(throws: Failure.self) {
            try ExchangeRates.check(Plan(scenario, options), scenario.money)
        }
        #expect(failure?.message.contains("XYZ, which has no exchange rate for EUR") == true)
        scenario.money.currency = "EUR"
        try ExchangeRates.check(Plan(scenario, options), scenario.money)
    }

    @Test func currenciesAreNotAddedUp() {
        let sum = Money(1, "EUR") + Money(2, "USD") + Money(3, "EUR")
        #expect(sum.amounts == ["EUR": 4, "USD": 2])
        #expect(MoneyText.text(sum) == "4.00 EUR + 2.00 USD")
        #expect(sum.converted(to: "EUR", rates: ["USD": 0.5]).amounts == ["EUR": 5])
        #expect(sum.converted(to: "EUR", rates: [:]).amounts == ["EUR": 4, "USD": 2])
    }
}
