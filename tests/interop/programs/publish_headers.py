"""Publishes one message with headers of every kind, and one under numeric keys."""
import asyncio, sys
from apache_iggy import HeaderKey, HeaderValue, IggyClient, SendMessage


async def main(url: str) -> None:
    client = IggyClient.from_connection_string(url)
    await client.connect()
    await client.create_stream("theirs")
    await client.create_topic("theirs", "headers", 1)
    every = {
        "raw": HeaderValue.Raw(b"\x00\xff\x02"),
        "string": HeaderValue.String("zażółć"),
        "bool": HeaderValue.Bool(True),
        "int8": HeaderValue.Int8(-128),
        "int16": HeaderValue.Int16(-32768),
        "int32": HeaderValue.Int32(-(2**31)),
        "int64": HeaderValue.Int64(-(2**63)),
        "int128": HeaderValue.Int128(-(2**127)),
        "uint8": HeaderValue.UnsignedInt8(255),
        "uint16": HeaderValue.UnsignedInt16(65535),
        "uint32": HeaderValue.UnsignedInt32(2**32 - 1),
        "uint64": HeaderValue.UnsignedInt64(2**64 - 1),
        "uint128": HeaderValue.UnsignedInt128(2**128 - 1),
        "float32": HeaderValue.Float32(1.5),
        "float64": HeaderValue.Float64(-0.1),
        "__proto__": HeaderValue.String("a legal name"),
    }
    numbered = {HeaderKey.UnsignedInt32(7): HeaderValue.String("seven"), "named": HeaderValue.Bool(False)}
    await client.send_messages("theirs", "headers", 0, [
        SendMessage(b"every kind", user_headers=every, id=2**127 + 5),
        SendMessage("numbered key", user_headers=numbered),
        SendMessage(b"\x00\x01\xfe\xff"),
    ])
    print("ok")


asyncio.run(main(sys.argv[1]))
