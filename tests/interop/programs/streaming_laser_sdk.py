import asyncio, sys
import laser_sdk

async def main(url: str) -> None:
    laser = await laser_sdk.Laser.connect(url)        # iggy+tcp:// only
    caps = await laser.capabilities()
    print("hello:", caps.hello, "managed:", caps.managed)
    stream = laser.stream("shop")
    await stream.ensure()
    topic = stream.topic("orders")
    await topic.ensure(1)                             # create if missing, one partition
    await topic.send(b"raw", headers={"kind": "test"})
    await topic.publish().json({"id": 1, "status": "paid"}).send()
    seen = await topic.replay(batch=100).poll()       # reads every partition from offset 0
    assert [bytes(m.payload)[:3] for m in seen] == [b"raw", b'{"i']
    assert seen[1].json() == {"id": 1, "status": "paid"}
    consumer = topic.consumer("reader", partition=0)
    await consumer.init()
    message = await consumer.next_within(2000.0)
    await consumer.commit(message)
    stored = await consumer.stored_offset(0)
    assert stored.stored_offset == 0
    await consumer.shutdown()
    await stream.delete()
    await laser.close()
    print("ok")

asyncio.run(main(sys.argv[1]))
