"""Drains the change feed with the vendor's client in its fastest documented form and prints records and seconds."""
import asyncio
import sys
import time

import laser_sdk


async def main(url: str, stream: str, index: str) -> None:
    laser = await laser_sdk.Laser.connect(url, stream=stream)
    watch = laser.watch(index=index)
    started = time.perf_counter()
    records = 0
    while True:
        changes = await watch.poll()
        if not changes:
            break
        records += len(changes)
    print(records, time.perf_counter() - started)
    await laser.close()


asyncio.run(main(*sys.argv[1:]))
