# The Python side of sum.bench.mjs, by the protocol of docs/protocol.md. The input comes as JSON or as bytes.
import array, json, sys, time

orders = sys.stdin.buffer
while line := orders.readline():
    order = json.loads(line)
    if order["type"] == "open":
        numbers = array.array("d", orders.read(order["bytes"])) if "bytes" in order else order["input"]
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
