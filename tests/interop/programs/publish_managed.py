"""Registers a projection and a binding, and publishes documents that become rows."""
import asyncio, sys
import laser_sdk as sdk


async def main(url: str) -> None:
    laser = await sdk.Laser.connect(url, stream="acme")
    await laser.wait_until_ready(10_000.0)
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
        await asyncio.sleep(0.1)
    for number in range(1, 6):
        await orders.publish().json({"id": number, "status": "paid" if number % 2 else "open", "total": 10 * number}).send()
    await orders.send(b"raw", headers={"kind": "test", "count": 3})
    await laser.close()
    print("ok")


asyncio.run(main(sys.argv[1]))
