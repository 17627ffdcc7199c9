print("dray")
