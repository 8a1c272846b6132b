"""Sends three messages one after the other and says how each went."""
import asyncio, sys
from apache_iggy import IggyClient, SendMessage


async def main(url: str) -> None:
    client = IggyClient.from_connection_string(url)
    await client.connect()
    for payload in (b"one", b"two", b"three"):
        try:
            sent = await client.send_messages("s", "t", 0, [SendMessage(payload)])
            print(payload.decode(), [c.base_offset for c in sent.confirmations])
        except RuntimeError:
            print(payload.decode(), "failed")
    print("ok")


asyncio.run(main(sys.argv[1]))
