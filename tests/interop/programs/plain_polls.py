"""With a refused roster: plain polls work, a poll with auto commit does not."""
import asyncio, sys
from apache_iggy import Consumer, IggyClient, PollingStrategy


async def main(url: str) -> None:
    client = IggyClient.from_connection_string(url)
    await client.connect()
    async def poll(auto_commit: bool):
        return await client.poll_messages("s", "t", consumer=Consumer.Single("reader"), partition_id=0,
                                          polling_strategy=PollingStrategy.First(), count=10, auto_commit=auto_commit)
    print("plain:", [m.payload() for m in await poll(False)])
    try:
        await poll(True)
        print("committed")
    except RuntimeError as error:
        print("auto commit:", error)
    print("ok")


asyncio.run(main(sys.argv[1]))
