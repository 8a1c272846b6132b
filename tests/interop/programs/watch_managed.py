"""Drains the changes of an index and queries it: what another client registered and published."""
import asyncio, json, sys
import laser_sdk as sdk


async def main(url: str) -> None:
    laser = await sdk.Laser.connect(url, stream="acme")
    await laser.wait_until_ready(10_000.0)
    watch = laser.watch(index="orders_v1")
    rows, last = 0, None
    for _ in range(100):
        for change in await watch.poll():
            rows += change.rows
            last = change
        if rows >= 4:
            break
        await asyncio.sleep(0.1)
    result = await laser.query("orders_v1").where_eq("status", "paid").limit(10).fetch()
    ids = sorted(result.value_text(row, "id") for row in result.rows)
    seen = await laser.stream("acme").topic("orders").replay(batch=100).poll()
    print(json.dumps({
        "rows": rows, "index": last.index, "partition": last.partition_id, "paid": ids,
        "payloads": [bytes(m.payload).decode() for m in seen], "headers": [dict(m.headers) for m in seen],
    }))
    await laser.close()
    print("ok")


asyncio.run(main(sys.argv[1]))
