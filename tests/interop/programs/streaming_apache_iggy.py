import asyncio, sys
from apache_iggy import (Consumer, IggyClient, Partitioning, PollingStrategy, SendMessage)

async def main(url: str) -> None:
    client = IggyClient.from_connection_string(url)   # iggy+tcp:// or iggy+ws://
    await client.connect()                            # logs in with the URL's user
    await client.ping()
    await client.create_stream("shop")
    await client.create_topic("shop", "orders", 3)
    sent = await client.send_messages("shop", "orders", 0, [SendMessage("one"), SendMessage(b"two")])
    assert [c.base_offset for c in sent.confirmations] == [0]
    await client.send_messages("shop", "orders", Partitioning.messages_key("user-42"),
                               [SendMessage("three", user_headers={"kind": "test"})])
    got = await client.poll_messages("shop", "orders", consumer=Consumer.Single("reader"), partition_id=0,
                                     polling_strategy=PollingStrategy.Next(), count=10, auto_commit=True)
    assert [(m.offset(), m.payload()) for m in got] == [(0, b"one"), (1, b"two")]
    again = await client.poll_messages("shop", "orders", consumer=Consumer.Single("reader"), partition_id=0,
                                       polling_strategy=PollingStrategy.Next(), count=10, auto_commit=True)
    assert again == []
    topic = await client.get_topic("shop", "orders")
    assert (topic.partitions_count, topic.messages_count) == (3, 3)
    await client.create_consumer_group("shop", "orders", "workers")
    await client.join_consumer_group("shop", "orders", "workers")
    mine = await client.poll_messages("shop", "orders", consumer=Consumer.Group("workers"),
                                      polling_strategy=PollingStrategy.Next(), count=10, auto_commit=True)
    assert len(mine) <= 2                              # one of the three partitions
    await client.leave_consumer_group("shop", "orders", "workers")
    try:
        print("hello:", await client.send_binary_request(1_000_000, b""))
    except RuntimeError as error:
        print("no managed plane:", error)             # status 3 reads "Invalid command"
    await client.delete_stream("shop")
    await client.logout_user()
    print("ok")

asyncio.run(main(sys.argv[1]))
