import asyncio, sys
import laser_sdk as sdk

async def main(url: str) -> None:
    laser = await sdk.Laser.connect(url, stream="acme")
    caps = await laser.wait_until_ready(10_000.0)
    assert caps.managed and caps.watch and caps.query.available
    await laser.stream("acme").ensure()
    orders = laser.stream("acme").topic("orders")
    await orders.ensure(1)
    projection = (sdk.ProjectionBuilder("orders_v1.v1").name("orders").content_type("json")
                  .fields(["id", "status", "total"]).build())
    await laser.projections().register(projection)
    binding = (sdk.ProjectionBindingBuilder().source("acme", "orders").allow("orders_v1.v1")
               .default_projection("orders_v1.v1").index("orders_v1").notify().build())
    await laser.bindings().apply(binding)
    while not any(p["projection"]["id"] == "orders_v1.v1" for p in await laser.projections().list()):
        await asyncio.sleep(0.1)                      # control is asynchronous
    watch = laser.watch(index="orders_v1")
    await watch.poll()                                # drain what is already there
    await orders.publish().json({"id": 4, "status": "paid", "total": 20}).send()
    changes = []
    for _ in range(50):
        changes = await watch.poll()
        if changes:
            break
        await asyncio.sleep(0.1)
    change = changes[-1]
    assert (change.index, change.partition_id, change.rows) == ("stream:acme/orders_v1", 0, 1)
    print("offsets to keep:", watch.offsets)
    result = await laser.query("orders_v1").where_eq("status", "paid").limit(10).fetch()
    assert result.value_text(result.rows[0], "status") == "paid"
    await laser.close()
    print("ok")

asyncio.run(main(sys.argv[1]))
