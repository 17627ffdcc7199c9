"""Holds `dray plan queue` against pyworkforce, and `dray-benchmark planner` against ciw.

Started by loadtest/planner-peers, whose virtual environment has both.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/planner-peers",
        description="Compares the planner with pyworkforce (Erlang C) and ciw (simulation).",
    )
    parser.add_argument("--cases", type=int, default=200, help="random staffing questions (200)")
    parser.add_argument(
        "--customers", type=int, default=200_000, help="customers that ciw simulates (200000)")
    parser.add_argument(
        "--jobs", type=int, default=10_000_000, help="jobs that dray simulates (10000000)")
    parser.add_argument("--seed", type=int, default=1, help="of the questions and of ciw (1)")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--dray", default="", help=argparse.SUPPRESS)
    parser.add_argument("--dray-benchmark", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if min(options.cases, options.customers - 999, options.jobs - 999) < 1:
        parser.error("--cases takes 1 or more, --customers and --jobs 1000 or more")
    return options


def run(program, *words):
    command = [program, *words, "--json"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stderr}")
    return json.loads(result.stdout)


def staffing(options):
    """Random questions to both: the servers that each finds, and its figures for them."""
    from pyworkforce.queuing import ErlangC

    draw = random.Random(options.seed)
    rows = []
    for _ in range(options.cases):
        load = 10 ** draw.uniform(-1, 3)
        service = 10 ** draw.uniform(-2, 2)
        within = service * draw.uniform(0.01, 2)
        level = draw.uniform(0.5, 0.99)
        model = ErlangC(transactions=load / service, aht=service, asa=within, interval=1)
        peer = model.required_positions(service_level=level)
        own = run(
            options.dray, "plan", "queue", "--load", repr(load), "--service-time", repr(service),
            "--within", repr(within), "--target-level", repr(level))
        # What both say about the same number of servers.
        servers = own["servers"]
        rows.append({
            "load": load, "level": level, "servers": servers,
            "peerServers": peer["raw_positions"],
            "waitRatio": own["probabilityOfWait"] / model.waiting_probability(servers),
            "levelRatio": own["serviceLevel"] / model.service_level(servers),
        })
    return rows


QUEUES = [("M/M/1", 1, 0.8, "exponential"), ("M/D/1", 1, 0.8, "fixed"),
          ("M/M/16", 16, 0.9, "exponential")]


# Beyond the range of the formulas: servers, use, CV² of arrivals (two exponentials) and of service
# (lognormal).
BEYOND = [("M/L20/16", 16, 0.8, 1, 20), ("H4/L2/100", 100, 0.8, 4, 2), ("H4/M/16", 16, 0.9, 4, 1)]


#: With 200,000 customers and long tails ciw's own mean is known to some 15 %.
MAX_WAIT_ERROR = 0.25


def is_far(row):
    """Whether a wait beyond the range of the formulas is not simulated, or not ciw's."""
    return row["method"] != "simulation" or abs(row["dray"] / row["ciw"] - 1) > MAX_WAIT_ERROR


def beyond(options):
    """What `dray plan queue` answers by itself beyond the range, beside the formula and ciw."""
    import ciw

    rows = []
    for name, servers, utilisation, arrivals, service in BEYOND:
        load = servers * utilisation
        question = [
            "plan", "queue", "--load", repr(load), "--servers", str(servers), "--arrival-cv2",
            str(arrivals), "--service-cv2", str(service)]
        own = run(options.dray, *question)
        formula = run(options.dray, *question, "--method", "formula")
        share = (1 + ((arrivals - 1) / (arrivals + 1)) ** 0.5) / 2
        ciw.seed(options.seed)
        network = ciw.create_network(
            arrival_distributions=[
                ciw.dists.Exponential(rate=load) if arrivals == 1
                else ciw.dists.HyperExponential(
                    rates=[2 * share * load, 2 * (1 - share) * load], probs=[share, 1 - share])],
            service_distributions=[
                ciw.dists.Exponential(rate=1.0) if service == 1
                else ciw.dists.Lognormal(
                    mean=-math.log(1 + service) / 2, sd=math.log(1 + service) ** 0.5)],
            number_of_servers=[servers])
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_customers(options.customers, method="Finish")
        records = sorted(simulation.get_all_records(), key=lambda record: record.arrival_date)
        waits = [record.waiting_time for record in records[options.customers // 20:]]
        rows.append({
            "name": name, "method": own["method"], "formula": formula["meanWaitSeconds"],
            "dray": own["meanWaitSeconds"], "ciw": sum(waits) / len(waits),
            "margin": own.get("simulation", {}).get("meanWaitMarginSeconds", 0),
            "drayWaiting": own["probabilityOfWait"],
            "formulaWaiting": formula["probabilityOfWait"],
            "ciwWaiting": sum(wait > 0 for wait in waits) / len(waits),
        })
    print(f"\n{'beyond':<10} {'method':<10} {'formula s':>10} {'dray s':>9} {'±':>7} {'ciw s':>9} "
          f"{'waiting: formula':>17} {'dray':>6} {'ciw':>6}")
    for row in rows:
        print(f"{row['name']:<10} {row['method']:<10} {row['formula']:>10.4f} {row['dray']:>9.4f} "
              f"{row['margin']:>7.4f} {row['ciw']:>9.4f} {row['formulaWaiting']:>17.3f} "
              f"{row['drayWaiting']:>6.3f} {row['ciwWaiting']:>6.3f}")
    return rows


def peer_wait(options, servers, utilisation, service):
    """The mean wait that ciw simulates, and what it took; the first twentieth is warm-up."""
    import ciw

    rate = servers * utilisation
    ciw.seed(options.seed)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=rate)],
        service_distributions=[
            ciw.dists.Exponential(rate=1.0) if service == "exponential"
            else ciw.dists.Deterministic(value=1.0)],
        number_of_servers=[servers])
    begin = time.monotonic()
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(options.customers, method="Finish")
    seconds = time.monotonic() - begin
    records = sorted(simulation.get_all_records(), key=lambda record: record.arrival_date)
    waits = [record.waiting_time for record in records[options.customers // 20:]]
    return sum(waits) / len(waits), seconds


def simulations(options):
    report = run(options.dray_benchmark, "planner", "--jobs", str(options.jobs))
    own = {row["name"]: row for row in report["simulations"]}
    rows = []
    for name, servers, utilisation, service in QUEUES:
        wait, seconds = peer_wait(options, servers, utilisation, service)
        theory = own[name]["theoreticalWaitSeconds"]
        rows.append({
            "name": name, "theory": theory,
            "drayWait": own[name]["meanWaitSeconds"], "ciwWait": wait,
            "drayToTheory": own[name]["meanWaitSeconds"] / theory, "ciwToTheory": wait / theory,
            "drayPerSecond": own[name]["jobsPerSecond"],
            "ciwPerSecond": options.customers / seconds,
        })
    return rows, report["peakResidentBytes"]


def main():
    options = arguments()
    if options.check:
        return 0
    questions = staffing(options)
    same = sum(row["servers"] == row["peerServers"] for row in questions)
    worst = max(
        max(abs(row["waitRatio"] - 1), abs(row["levelRatio"] - 1)) for row in questions)
    print(f"pyworkforce: the same number of servers for {same} of {len(questions)} questions; "
          f"ratios of P(wait) and service level are within {worst:.1e} of 1")
    rows, memory = simulations(options)
    print(f"\n{'queue':<8} {'theory s':>9} {'dray s':>9} {'ratio':>7} {'ciw s':>9} {'ratio':>7} "
          f"{'dray jobs/s':>13} {'ciw jobs/s':>11} {'dray to ciw':>12}")
    for row in rows:
        print(f"{row['name']:<8} {row['theory']:>9.4f} {row['drayWait']:>9.4f} "
              f"{row['drayToTheory']:>7.4f} {row['ciwWait']:>9.4f} {row['ciwToTheory']:>7.4f} "
              f"{row['drayPerSecond']:>13,.0f} {row['ciwPerSecond']:>11,.0f} "
              f"{row['drayPerSecond'] / row['ciwPerSecond']:>11.0f}x")
    waits = beyond(options)
    print(f"dray simulates {options.jobs:,} jobs with {memory / 2**20:.0f} MiB, ciw "
          f"{options.customers:,} customers")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"staffing": questions, "simulations": rows, "beyond": waits}, file, indent=2)
            file.write("\n")
    far = [row["name"] for row in rows if abs(row["drayToTheory"] - 1) > 0.05]
    far += [row["name"] for row in waits if is_far(row)]
    if same < len(questions) or worst > 1e-9 or far:
        print("not the same: " + ", ".join(["staffing"] * (same < len(questions)) + far),
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
