"""Prints every record of a topic's partition 0 as a line of JSON: payload in hex, headers by kind and value."""
import asyncio, json, sys
from apache_iggy import Consumer, IggyClient, PollingStrategy


def plain(value):
    return value.hex() if isinstance(value, bytes) else str(value) if isinstance(value, int) and not isinstance(value, bool) else value


async def main(url: str, stream: str, topic: str) -> None:
    client = IggyClient.from_connection_string(url)
    await client.connect()
    got = await client.poll_messages(stream, topic, consumer=Consumer.Single("reader"), partition_id=0,
                                     polling_strategy=PollingStrategy.First(), count=1000, auto_commit=False)
    for message in got:
        headers = {str(key.value): [type(value).__name__, plain(value.value)]
                   for key, value in (message.user_headers() or {}).items()}
        print(json.dumps({"offset": message.offset(), "id": str(message.id()), "payload": message.payload().hex(), "headers": headers}))
    print("ok")


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3]))
