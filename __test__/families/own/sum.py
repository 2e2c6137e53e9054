# The Python side of sum.bench.mjs, by the protocol of docs/protocol.md.
import json, sys, time

for line in sys.stdin:
    order = json.loads(line)
    if order["type"] == "open":
        numbers = order["input"]
        answer = {"type": "ready"}
    elif order["type"] == "sample":
        start = time.perf_counter()
        for _ in range(order["repeats"]):
            result = sum(numbers)
        answer = {"type": "sample", "seconds": time.perf_counter() - start}
    elif order["type"] == "result":
        answer = {"type": "result", "result": result}
    else:
        break
    print(json.dumps(answer), flush=True)
